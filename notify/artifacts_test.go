package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// clinic is a host as users of the package see it, with notifications of the
// type "visit" and one channel.
type clinic struct {
	*testing.T
	*notify.Notifier
	clk    *clock.Mock
	poller *belfry.Poller
}

// eachClinic runs a story on every adapter.
func eachClinic(t *testing.T, opts notify.Options, story func(c *clinic)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		opts := opts
		opts.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
		accept := func(context.Context, channel.Message) (channel.Receipt, error) {
			return channel.Receipt{ID: "accepted"}, nil
		}
		n := notify.New(store, &opts, channel.Func("email:test", accept))
		n.Register(notify.Type{Name: "visit", Renderer: notify.Template{Subject: "{{.Recipient.Name}}"}})
		story(&clinic{t, n, clk, belfry.NewPoller(store, nil, n)})
	})
}

func (c *clinic) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c *clinic) same(what string, want, got any) {
	c.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		c.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (c *clinic) drain() {
	c.Helper()
	c.must(c.poller.Drain(c.Context()))
}

// appointment is a job that tells sam of a visit, by mail and in the inbox.
func appointment(id string) notify.Job {
	return notify.Job{
		Scope: "tenant", Type: "visit",
		PartitionKey: "car-" + id, RowKey: keys.AutomationRowKey("visit:" + id), BusinessUnit: "north",
		EntityType: "car", Entity: id, EventData: json.RawMessage(`{}`), InputHash: "hash",
		Recipients: []notify.Recipient{{Ref: "sam", Name: "Sam", Channel: "email:test", Address: "sam@example.com", Inbox: "user:sam"}},
	}
}

// mailing is a campaign for sam and kim.
func (c *clinic) mailing(guid string) notify.MessagingJob {
	c.Helper()
	p, err := c.Campaigns().PutAudience(c.Context(), notify.AudienceOf(func(yield func(notify.Recipient, error) bool) {
		for _, name := range []string{"sam", "kim"} {
			if !yield(notify.Recipient{Ref: name, Name: name, Channel: "email:test", Address: name + "@example.com"}, nil) {
				return
			}
		}
	}), nil)
	c.must(err)
	return notify.MessagingJob{
		Scope: "tenant", Type: "visit", GUID: guid, BusinessUnit: "north",
		Blob: p.Blob, AudienceSize: p.Recipients, InputHash: "hash",
	}
}

// send ensures a campaign and its schedule.
func (c *clinic) send(j notify.MessagingJob) {
	c.Helper()
	_, err := c.EnsureMessagingJob(c.Context(), nil, j)
	c.must(err)
	_, err = c.EnsureNotificationScheduler(c.Context(), nil, notify.ScheduleForCampaign(j, time.Time{}))
	c.must(err)
}

// The dispatch guard has four parts, and a schedule that differs in any one of
// them is another. The event type is one: a visit that is moved is told of again.
func TestI1_AnArtifactHasOneScheduleForEachEventType(t *testing.T) {
	eachClinic(t, notify.Options{}, func(c *clinic) {
		job := appointment("7")
		_, err := c.EnsureNotificationJob(c.Context(), nil, job)
		c.must(err)
		for _, ask := range []struct {
			says   string
			change func(s *notify.Schedule)
			want   storage.Outcome
		}{
			{"no event type", func(*notify.Schedule) {}, storage.Created},
			{"the notification type, which is what no event type means", func(s *notify.Schedule) { s.EventType = "visit" }, storage.Unchanged},
			{"another event type", func(s *notify.Schedule) { s.EventType = "visit-moved" }, storage.Created},
			{"that one again", func(s *notify.Schedule) { s.EventType = "visit-moved" }, storage.Unchanged},
			{"another row", func(s *notify.Schedule) { s.ArtifactRowKey = "other" }, storage.Created},
			{"another partition", func(s *notify.Schedule) { s.ArtifactPartitionKey = "other" }, storage.Created},
			{"another kind of artifact", func(s *notify.Schedule) { s.ArtifactType = notify.ArtifactMessagingJob }, storage.Created},
		} {
			s := notify.ScheduleFor(job, storetest.Start.Add(time.Hour))
			ask.change(&s)
			got, err := c.EnsureNotificationScheduler(c.Context(), nil, s)
			c.must(err)
			c.same(ask.says, ask.want, got[0].Outcome)
		}
		trace, err := c.Trace(c.Context(), "tenant", job.Coordinates())
		c.must(err)
		var events []string
		for _, s := range trace.Schedules {
			events = append(events, s.EventType)
		}
		c.same("event types of the job's schedules", []string{"visit", "visit-moved"}, events)
	})
}

// A message is found under its job: its partition is the job's row key, with the
// job's own partition beside it. One of a campaign has the campaign's GUID alone.
func TestAMessageIsInThePartitionOfItsJob(t *testing.T) {
	eachClinic(t, notify.Options{}, func(c *clinic) {
		job := appointment("7")
		_, err := c.Notify(c.Context(), job)
		c.must(err)
		c.send(c.mailing("spring"))
		c.drain()
		got := map[string][]string{}
		all, _, err := c.Support().AllMessages(c.Context(), "tenant", storage.Page{})
		c.must(err)
		for _, m := range all {
			key, err := keys.Join(m.PartitionKey, m.RowKey)
			c.must(err)
			c.same("key of "+m.RecipientRef, key, m.Key)
			at := m.PartitionKey + " of " + m.JobPartitionKey
			got[at] = append(got[at], m.RecipientRef)
			slices.Sort(got[at])
		}
		c.same("messages", map[string][]string{
			job.RowKey + " of " + job.PartitionKey: {"sam"},
			"spring of ":                           {"kim", "sam"},
		}, got)
	})
}

// SourceReverseTicks is from the occasion, and not from the moment at which
// somebody wrote the job: what is told late keeps its place.
func TestAnInboxIsInTheOrderOfTheOccasions(t *testing.T) {
	eachClinic(t, notify.Options{}, func(c *clinic) {
		for _, v := range []struct {
			id string
			on time.Time
		}{{"second", storetest.Start}, {"first", storetest.Start.Add(-24 * time.Hour)}, {"third", storetest.Start.Add(time.Hour)}} {
			c.clk.Add(time.Minute)
			job := appointment(v.id)
			job.SourceOn = v.on
			_, err := c.Notify(c.Context(), job)
			c.must(err)
			c.drain()
			trace, err := c.Trace(c.Context(), "tenant", job.Coordinates())
			c.must(err)
			row, err := keys.UserMessageRow(v.on, job.RowKey)
			c.must(err)
			if !trace.Job.SourceOn.Equal(v.on) || len(trace.UserMessages) != 1 || trace.UserMessages[0].RowKey != row {
				c.Errorf("%s is of %v: %+v", v.id, trace.Job.SourceOn, trace.UserMessages)
			}
		}
		inbox, _, err := c.Inbox("tenant", "user:sam").Messages(c.Context(), storage.Page{})
		c.must(err)
		var order []string
		for _, m := range inbox {
			order = append(order, m.JobPartitionKey)
		}
		c.same("inbox, newest first", []string{"car-third", "car-second", "car-first"}, order)
	})
}

// immutables are the wishes that stand for something else than the first under
// their key, by the field in which they differ.
type immutables[R any] struct {
	first  R
	ensure func(context.Context, storage.Tx, ...R) ([]notify.Ensured, error)
	others map[string]func(*R)
}

// conflict fails the test unless each of the others is a conflict that names its
// field, and the first one is unchanged after all of them.
func (i immutables[R]) conflict(c *clinic) {
	c.Helper()
	outcome := func(what string, r R, want storage.Outcome, field string) {
		c.Helper()
		got, err := i.ensure(c.Context(), nil, r)
		var conflict *notify.ConflictError
		named := ""
		if errors.As(err, &conflict) {
			named = conflict.Field
		} else {
			c.must(err)
		}
		c.same(what, []any{want, field}, []any{got[0].Outcome, named})
	}
	outcome("the first", i.first, storage.Created, "")
	for field, change := range i.others {
		other := i.first
		change(&other)
		outcome(field, other, storage.Conflict, field)
	}
	outcome("the first again", i.first, storage.Unchanged, "")
}

func TestI3_EachImmutableFieldThatDiffersIsAConflict(t *testing.T) {
	eachClinic(t, notify.Options{}, func(c *clinic) {
		immutables[notify.AutomationJob]{
			notify.AutomationJob{Scope: "tenant", Type: "visit", PartitionKey: "car", RowKey: "7", SchedulerKey: "key", InputHash: "hash"}, c.EnsureAutomationJob,
			map[string]func(*notify.AutomationJob){
				"Type":         func(j *notify.AutomationJob) { j.Type = "other" },
				"SchedulerKey": func(j *notify.AutomationJob) { j.SchedulerKey = "other" },
				"InputHash":    func(j *notify.AutomationJob) { j.InputHash = "other" },
			},
		}.conflict(c)
		immutables[notify.Job]{appointment("7"), c.EnsureNotificationJob, map[string]func(*notify.Job){
			"Type":         func(j *notify.Job) { j.Type = "other" },
			"BusinessUnit": func(j *notify.Job) { j.BusinessUnit = "other" },
			"EntityType":   func(j *notify.Job) { j.EntityType = "other" },
			"Entity":       func(j *notify.Job) { j.Entity = "other" },
			"InputHash":    func(j *notify.Job) { j.InputHash = "other" },
		}}.conflict(c)
		immutables[notify.MessagingJob]{c.mailing("spring"), c.EnsureMessagingJob, map[string]func(*notify.MessagingJob){
			"Type":         func(j *notify.MessagingJob) { j.Type = "other" },
			"BusinessUnit": func(j *notify.MessagingJob) { j.BusinessUnit = "other" },
			"InputHash":    func(j *notify.MessagingJob) { j.InputHash = "other" },
			"ContentHash":  func(j *notify.MessagingJob) { j.ContentHash = "other" },
		}}.conflict(c)
		schedule := notify.ScheduleFor(appointment("7"), time.Time{})
		schedule.EventType = "moved" // else another Type is another guard
		immutables[notify.Schedule]{schedule, c.EnsureNotificationScheduler, map[string]func(*notify.Schedule){
			"Type":         func(s *notify.Schedule) { s.Type = "other" },
			"BusinessUnit": func(s *notify.Schedule) { s.BusinessUnit = "other" },
			"InputHash":    func(s *notify.Schedule) { s.InputHash = "other" },
		}}.conflict(c)
		immutables[notify.UserMessage]{
			notify.UserMessage{
				Scope: "tenant", Type: "visit", PartitionKey: "user:sam", RowKey: "7", JobPartitionKey: "car", JobRowKey: "7",
				SourceOn: storetest.Start, RecipientRef: "sam", InputHash: "hash", ContentHash: "content",
			}, c.EnsureUserMessage,
			map[string]func(*notify.UserMessage){
				"Type":            func(m *notify.UserMessage) { m.Type = "other" },
				"JobPartitionKey": func(m *notify.UserMessage) { m.JobPartitionKey = "other" },
				"JobRowKey":       func(m *notify.UserMessage) { m.JobRowKey = "other" },
				"RecipientRef":    func(m *notify.UserMessage) { m.RecipientRef = "other" },
				"InputHash":       func(m *notify.UserMessage) { m.InputHash = "other" },
				"ContentHash":     func(m *notify.UserMessage) { m.ContentHash = "other" },
			},
		}.conflict(c)
		immutables[notify.OutgoingMessage]{
			notify.OutgoingMessage{
				Scope: "tenant", Channel: "email:test", PartitionKey: "7", RowKey: "sam", JobPartitionKey: "car", NotificationType: "visit",
				RecipientRef: "sam", RecipientHash: "recipient", Address: "sam@example.com", InputHash: "hash", ContentHash: "content",
			}, c.EnsureOutgoingMessage,
			map[string]func(*notify.OutgoingMessage){
				"NotificationType": func(m *notify.OutgoingMessage) { m.NotificationType = "other" },
				"JobPartitionKey":  func(m *notify.OutgoingMessage) { m.JobPartitionKey = "other" },
				"Method":           func(m *notify.OutgoingMessage) { m.Method = "other" },
				"RecipientRef":     func(m *notify.OutgoingMessage) { m.RecipientRef = "other" },
				"RecipientHash":    func(m *notify.OutgoingMessage) { m.RecipientHash = "other" },
				"InputHash":        func(m *notify.OutgoingMessage) { m.InputHash = "other" },
				"ContentHash":      func(m *notify.OutgoingMessage) { m.ContentHash = "other" },
			},
		}.conflict(c)
	})
}

// Whatever is given up waits for a person, who finds it by its reason: a row that
// has failed and is not held is one that nobody will ever see again.
func TestI17_WhatIsGivenUpIsHeld(t *testing.T) {
	unavailable := gate.Func(func(context.Context, gate.Attempt) (gate.Verdict, error) {
		return gate.Verdict{}, errors.New("no answer")
	})
	eachClinic(t, notify.Options{Gates: []gate.Gate{unavailable}}, func(c *clinic) {
		fails := func(err error) notify.Renderer {
			return notify.RendererFunc(func(context.Context, notify.Job, notify.Recipient) (notify.Content, error) {
				return notify.Content{}, err
			})
		}
		c.Register(notify.Type{Name: "failing", Renderer: fails(errors.New("no connection"))})
		c.Register(notify.Type{Name: "refusing", Renderer: fails(channel.Permanent("no such text", nil))})
		_, err := c.EnsureNotificationScheduler(c.Context(), nil, notify.ScheduleFor(appointment("missing"), time.Time{}))
		c.must(err)
		for _, name := range []string{"failing", "refusing", "visit"} {
			job := appointment(name)
			job.Type = name
			_, err := c.Notify(c.Context(), job)
			c.must(err)
			if name != "visit" {
				campaign := c.mailing(name)
				campaign.Type = name
				c.send(campaign)
			}
		}
		for range 5 {
			c.drain()
			c.clk.Add(2 * time.Hour)
		}
		held := map[string][]string{}
		for _, reason := range []string{reasons.RetriesExhausted, reasons.Refused} {
			schedules, _, err := c.Support().HeldSchedules(c.Context(), "tenant", reason, storage.Page{})
			c.must(err)
			for _, r := range schedules {
				held[reason] = append(held[reason], "schedule of "+r.ArtifactPartitionKey+" "+r.Status)
			}
			jobs, _, err := c.Support().HeldJobs(c.Context(), "tenant", reason, storage.Page{})
			c.must(err)
			for _, r := range jobs {
				held[reason] = append(held[reason], "job "+r.Type+" "+r.Status)
			}
			campaigns, _, err := c.Support().HeldCampaigns(c.Context(), "tenant", reason, storage.Page{})
			c.must(err)
			for _, r := range campaigns {
				held[reason] = append(held[reason], "campaign "+r.Type+" "+r.Status)
			}
			messages, _, err := c.Support().Held(c.Context(), "tenant", reason, storage.Page{})
			c.must(err)
			for _, r := range messages {
				held[reason] = append(held[reason], "message "+r.NotificationType+" "+r.Status)
			}
		}
		c.same("held", map[string][]string{
			reasons.RetriesExhausted: {"schedule of car-missing Failed", "job failing Failed", "campaign failing Failed", "message visit RetryReady"},
			reasons.Refused:          {"job refusing Failed", "campaign refusing Failed"},
		}, held)
	})
}
