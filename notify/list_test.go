package notify_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

func TestAnInboxIsListedNewestFirstPageByPage(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		for i := range 5 {
			j := visit(fmt.Sprint(i), inbox("sam"), inbox("sa"))
			j.SourceOn = storetest.Start.Add(time.Duration(i) * time.Hour)
			h.dispatch(j)
		}
		h.drain()
		var got []string
		for p := (storage.Page{Limit: 2}); ; {
			rows, next, err := h.Inbox("tenant", "user:sam").Messages(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range rows {
				got = append(got, m.Content.Subject[:1])
			}
			if p.After = next; next == "" {
				break
			}
		}
		h.same("messages", []string{"4", "3", "2", "1", "0"}, got)
	})
}

func TestATraceFollowsAJob(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		job := visit("7", person("sam"), inbox("kim"), inbox("kim"))
		h.dispatch(job, visit("8", person("sam")))
		h.drain()
		got, err := h.Trace(t.Context(), "tenant", job.Coordinates())
		if err != nil || got.Job == nil {
			t.Fatal(got, err)
		}
		if got.Job.SourceKey != "visit:7" || len(got.Schedules) != 1 || len(got.UserMessages) != 1 || len(got.OutgoingMessages) != 1 || got.OutgoingMessages[0].PartitionKey != job.RowKey {
			t.Errorf("trace is %+v", got)
		}
		none, err := h.Trace(t.Context(), "tenant", notify.Coordinates{"no", "job"})
		if err != nil || none.Job != nil {
			t.Errorf("%+v, %v", none, err)
		}
	})
}

// A catalogue's subscribers are not among the recipients that a job names.
func TestATraceHasTheInboxesOfSubscribers(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		long := inbox("lee")
		long.Name = strings.Repeat("x", 3<<10) // so that what is frozen is a blob
		s := &shelf{units: map[string]notify.NotificationOption{"north": {Seeded: true, Enabled: true, Subscribers: []notify.Recipient{inbox("kim"), long}}}}
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet, Catalogue: s}, h.provider)
		h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		job := visit("7", inbox("sam"))
		h.dispatch(job)
		inboxes := func() (got []string) {
			trace, err := h.Trace(t.Context(), "tenant", job.Coordinates())
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range trace.UserMessages {
				got = append(got, m.PartitionKey)
			}
			return got
		}
		h.same("before it is rendered", []string(nil), inboxes())
		h.drain()
		h.same("inboxes", []string{"user:sam", "user:kim", "user:lee"}, inboxes())
	})
}

// I-28: rows of another scope look absent, and no listing goes across scopes.
func TestI28_AListingShowsOneScopeOnly(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		job := visit("7", person("sam"), inbox("sam"))
		h.dispatch(job)
		h.drain()
		ctx := t.Context()
		for _, scope := range []notify.Scope{"", "tenan", "another"} {
			inbox, _, err1 := h.Inbox(scope, "user:sam").Messages(ctx, storage.Page{})
			messages, _, err2 := h.Support().Messages(ctx, scope, job.RowKey, storage.Page{})
			every, _, err3 := h.Support().AllMessages(ctx, scope, storage.Page{})
			trace, err4 := h.Trace(ctx, scope, job.Coordinates())
			if err := errors.Join(err1, err2, err3, err4); err != nil {
				t.Fatal(err)
			}
			if n := len(inbox) + len(messages) + len(every); n != 0 || trace.Job != nil {
				t.Errorf("scope %q sees %d rows of another", scope, n)
			}
		}
		_, _, err1 := h.Support().AllMessages(ctx, "\x00any", storage.Page{})
		_, err2 := h.Trace(ctx, "\x00any", job.Coordinates())
		if err1 == nil || err2 == nil {
			t.Error("a listing of a scope that no row can have")
		}
		if all, _, err := h.Support().AllMessages(ctx, "tenant", storage.Page{}); err != nil || len(all) != 1 {
			t.Errorf("%v, %v", all, err)
		}
	})
}

// Everything that waits for a person is found, and released by the Key found.
func TestWhateverIsHeldIsListedAndReleased(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		broken := true
		h.Register(notify.Type{Name: "broken", Renderer: notify.RendererFunc(func(context.Context, notify.Job, notify.Recipient) (notify.Content, error) {
			if broken {
				return notify.Content{}, io.ErrUnexpectedEOF
			}
			return notify.Content{Text: "mended"}, nil
		})})
		job := visit("7", person("sam"))
		job.Type = "broken"
		h.dispatch(job)
		orphan := visit("8", person("kim"))
		if _, err := h.EnsureNotificationScheduler(t.Context(), nil, notify.ScheduleFor(orphan, time.Time{})); err != nil {
			t.Fatal(err)
		}
		h.begin("spring", person("lee"))
		edit(h, notify.MessagingJobs, func(j *notify.MessagingJobRow) { j.Kind = "broken" })
		for range 5 {
			h.drain()
			h.clk.Add(2 * time.Hour)
		}
		found := func(scope notify.Scope, reason string) (keys [3][]string) {
			ctx := t.Context()
			of, _, err1 := h.Support().HeldSchedules(ctx, scope, reason, storage.Page{})
			jobs, _, err2 := h.Support().HeldJobs(ctx, scope, reason, storage.Page{})
			campaigns, _, err3 := h.Support().HeldCampaigns(ctx, scope, reason, storage.Page{})
			if err1 != nil || err2 != nil || err3 != nil {
				t.Fatal(err1, err2, err3)
			}
			for _, s := range of {
				keys[0] = append(keys[0], s.Key)
			}
			for _, j := range jobs {
				keys[1] = append(keys[1], j.Key)
			}
			for _, c := range campaigns {
				keys[2] = append(keys[2], c.Key)
			}
			return keys
		}
		held := found("tenant", reasons.RetriesExhausted)
		if len(held[0]) != 1 || len(held[1]) != 1 || len(held[2]) != 1 {
			t.Fatalf("held: %v", held)
		}
		h.same("another tenant", [3][]string{}, found("another", reasons.RetriesExhausted))
		h.same("whatever the reason", held, found("tenant", ""))
		h.same("another reason", [3][]string{}, found("tenant", reasons.Conflict))
		broken = false
		h.dispatch(orphan)
		for i, a := range []notify.Artifact{notify.ArtifactNotificationScheduler, notify.ArtifactNotificationJob, notify.ArtifactMessagingJob} {
			if err := h.Support().Release(t.Context(), "tenant", a, held[i][0], support); err != nil {
				t.Fatal(err)
			}
		}
		h.drain()
		h.same("held", [3][]string{}, found("tenant", reasons.RetriesExhausted))
		h.same("sent", 3, len(h.sent()))
	})
}

// readOnly refuses to write.
func readOnly(c storetest.Call) error {
	if (c.Verb == storetest.Insert || c.Verb == storetest.Update) && len(c.Rows) > 0 {
		return errors.New("an " + c.Verb + " of " + c.Table)
	}
	return nil
}

func TestADryRunSaysWhoWouldGetWhatAndWritesNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, inner storage.Store, clk *clock.Mock) {
		store := &storetest.Spy{Store: inner}
		h := newGated(t, store, clk, &notify.Options{Gates: gate.New(store, &gate.Options{
			Guard:  &gate.Guard{Allow: []string{"@example.com"}, Redirect: map[string]string{"sms": "+4915112345678"}},
			Caps:   []gate.Cap{{Limit: 2, Per: time.Hour}},
			Window: &gate.Window{From: "07:00", To: "20:00"},
			Rates:  []gate.Rate{{Channel: channelKey, Limit: 4, Per: time.Hour, Burst: 4}},
		})})
		h.prefers(notify.Preference{Scope: "tenant", RecipientRef: "out", OptedOut: true})
		h.Register(notify.Type{Name: "paused"})
		h.pause(notify.Extent{Scope: "tenant", Type: "paused"})
		h.ensure(letter("sent", "sam"))
		h.drain()
		h.ensure(letter("waiting", "kim"))
		want := []notify.OutgoingMessage{
			letter("sent", "sam"), letter("waiting", "kim"),
			letter("elsewhere", "eve", func(m *notify.OutgoingMessage) { m.Address = "eve@else.where" }),
			letter("redirected", "eve", func(m *notify.OutgoingMessage) { m.Channel, m.Address = "sms:test", "+4915187654321" }),
			letter("paused", "eve", func(m *notify.OutgoingMessage) { m.NotificationType = "paused" }),
			letter("out", "out"), letter("second", "sam"), letter("third", "sam"),
			letter("asleep", "ann", func(m *notify.OutgoingMessage) { m.Zone = "Pacific/Auckland" }),
			letter("fourth", "uma"), letter("fifth", "ida"),
		}
		store.SetHook(readOnly)
		for range 2 {
			got, err := h.DryRun(t.Context(), want...)
			if err != nil {
				t.Fatal(err)
			}
			reasons := map[string]string{}
			for _, f := range got {
				reasons[f.Message.Content.Text] = string(f.Verdict.Action) + f.Verdict.Reason + f.Verdict.To
			}
			h.same("forecast", map[string]string{
				"sent": "SkipExists", "waiting": "", "elsewhere": "SkipNotAllowed", "redirected": "+4915112345678", "paused": "DeferPaused",
				"out": "SkipOptedOut", "second": "", "third": "DeferFrequencyCap", "asleep": "DeferQuietHours", "fourth": "", "fifth": "DeferRateLimit",
			}, reasons)
		}
		store.SetHook(nil)
		h.same("messages", 2, len(all(h, notify.Messages)))
		h.same("reservations", 1, h.rows("rate_reservation"))
		h.drain()
		h.same("sent", map[string]int{"sent": 1, "waiting": 1}, h.texts())
	})
}

func TestADryRunTellsOfWhatEveryClaimHeeds(t *testing.T) {
	visits(t, func(t *testing.T, h *host) { // no gates
		h.pause(notify.Extent{Everywhere: true, Channel: channelKey})
		got, err := h.DryRun(t.Context(), letter("a", "sam"))
		if err != nil || len(got) != 1 || got[0].Verdict.Reason != reasons.Paused {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := h.DryRun(t.Context(), letter("a", "sam"), notify.OutgoingMessage{}); err == nil {
			t.Error("a message that could not be ensured has a forecast")
		}
	})
}

func TestAGateThatFailsFailsTheDryRun(t *testing.T) {
	gatedInMemory(t, oneGate(silentGate{}), func(h *host) {
		if _, err := h.DryRun(h.t.Context(), letter("a", "sam")); err == nil {
			h.t.Error("no error")
		}
	})
}
