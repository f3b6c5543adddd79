package notify_test

import (
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

func TestADirectReminderArrivesOnceAtEachRecipient(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.dispatch(visit("7", person("sam"), person("kim")))
		h.drain()
		h.drain()
		to := map[string]channel.Message{}
		for _, m := range h.sent() {
			to[m.To] = m
		}
		if len(h.sent()) != 2 || len(to) != 2 {
			t.Fatalf("sent %v", h.sent())
		}
		m := to["sam@example.com"]
		if m.ID == "" || m.ID == to["kim@example.com"].ID {
			t.Errorf("message ids are %q and %q", m.ID, to["kim@example.com"].ID)
		}
		m.ID = ""
		h.same("message", channel.Message{
			Channel: channelKey, To: "sam@example.com", Name: "sam", Subject: "7 on 2026-05-01", Text: "Dear sam",
			Locale: "en", Attempt: 1, On: storetest.Start, ValidUntil: storetest.Start.Add(7 * 24 * time.Hour),
		}, m)
		for _, m := range all(h, notify.Messages) {
			if m.Status != notify.StatusSentToProvider || m.ProviderMessageID != "accepted" || !m.SentOn.Equal(storetest.Start) || !m.DueOn.IsZero() {
				t.Errorf("message is %+v", m)
			}
		}
	})
}

// Communication - Codebase flow, "Important tests".
func TestDirectReminderRetryMakesOneNotificationJob(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		for range 3 {
			h.dispatch(visit("7", person("sam")))
			h.drain()
		}
		only(h, notify.Jobs)
		only(h, notify.Schedules)
		h.status(notify.StatusSentToProvider)
		if n := len(h.sent()); n != 1 {
			t.Errorf("%d calls", n)
		}
	})
}

// Communication - Codebase flow, "Important tests": the generator's work is done
// and lost, then done again; and once more after all is finished.
func TestGeneratorRetryMakesOneOutgoingMessagePerRecipientAndMethod(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.dispatch(visit("7", person("sam"), person("kim"), person("sam")))
		h.run("notify.scheduler")
		h.generateAndDie()
		h.run("notify.generator")
		h.run("notify.generator")
		h.regenerate()
		h.drain()
		if n := len(all(h, notify.Messages)); n != 2 {
			t.Errorf("%d messages", n)
		}
		if n := len(h.sent()); n != 2 {
			t.Errorf("%d calls", n)
		}
	})
}

// generateAndDie handles the ready jobs and commits nothing.
func (h *host) generateAndDie() {
	h.t.Helper()
	var items []work.Item[notify.JobRow]
	for _, j := range all(h, notify.Jobs) {
		j.Status = notify.StatusGenerating
		items = append(items, work.Item[notify.JobRow]{Row: j, Ctx: h.t.Context(), Lease: lease})
	}
	if err := h.GenerateAll(h.t.Context(), items...); err != nil {
		h.t.Fatal(err)
	}
}

// regenerate makes the only job ready once more, as support would.
func (h *host) regenerate() {
	h.t.Helper()
	edit(h, notify.Jobs, func(j *notify.JobRow) {
		j.Status, j.DueOn, j.EndedOn = notify.StatusReady, driver.Now(h.store), time.Time{}
	})
	if n := h.run("notify.generator"); n != 1 {
		h.t.Fatalf("generated %d jobs", n)
	}
}

// Communication - Codebase flow, "Important tests".
func TestDuplicateDistributorMessageDoesNotCallTheProviderASecondTime(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.dispatch(visit("7", person("sam")))
		h.drain()
		for _, status := range []string{notify.StatusSending, notify.StatusSentToProvider, notify.StatusDelivered, notify.StatusOpened, notify.StatusFailedFinal} {
			edit(h, notify.Messages, func(m *notify.MessageRow) { m.Status, m.DueOn = status, driver.Now(h.store) })
			if n := h.run("notify.distributor"); n != 0 {
				t.Errorf("a message in %s was claimed", status)
			}
		}
		if n := len(h.sent()); n != 1 {
			t.Errorf("%d calls", n)
		}
	})
}

func inbox(name string) notify.Recipient {
	return notify.Recipient{Ref: name, Inbox: "user:" + name, Name: name}
}

// Communication - Codebase flow, "Important tests".
func TestUIOnlyReminderMakesAUserMessageAndNoOutgoingMessage(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.dispatch(visit("7", inbox("sam")))
		h.drain()
		got, _, err := h.Inbox("tenant", "user:sam").Messages(t.Context(), storage.Page{})
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		h.same("content", notify.Content{Subject: "7 on 2026-05-01", Text: "Dear sam"}, got[0].Content)
		if n := len(all(h, notify.Messages)) + len(h.sent()); n != 0 {
			t.Errorf("%d outgoing messages and calls", n)
		}
	})
}

// Communication - Codebase flow, "Important tests".
func TestUserMessageRetryWithStableSourceTicksMakesOneRow(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.dispatch(visit("7", inbox("sam")))
		h.run("notify.scheduler")
		h.generateAndDie()
		h.clk.Add(time.Hour) // the moment of writing is not a part of the key
		h.drain()
		h.clk.Add(time.Hour)
		h.regenerate()
		m := only(h, notify.UserMessages)
		if !m.SourceOn.Equal(storetest.Start) {
			t.Errorf("source time is %v", m.SourceOn)
		}
	})
}

// Communication - System architecture, "Partial failure handling".
func TestUserMessageMissingForOneRecipientIsInserted(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.dispatch(visit("7", inbox("sam"), inbox("kim")))
		h.drain()
		before := all(h, notify.UserMessages)
		h.inOne(func(tx storage.Tx) error { return notify.UserMessages.Delete(t.Context(), tx, before[0]) })
		h.regenerate()
		if after := all(h, notify.UserMessages); len(after) != 2 {
			t.Errorf("%d user messages", len(after))
		}
	})
}

// Communication - System architecture, "Partial failure handling".
func TestMissingSchedulerIsRecreatedThroughTheDispatchGuard(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		job := visit("7", person("sam"))
		if _, err := h.EnsureNotificationJob(t.Context(), nil, job); err != nil {
			t.Fatal(err) // and the producer dies
		}
		h.drain()
		if len(h.sent()) != 0 {
			t.Fatal("sent without a schedule")
		}
		h.dispatch(job)
		h.dispatch(job)
		h.drain()
		only(h, notify.Schedules)
		h.status(notify.StatusSentToProvider)
	})
}

func TestAScheduleWhoseJobIsMissingWaitsAndIsThenHeld(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		job := visit("7", person("sam"))
		plan := notify.ScheduleFor(job, time.Time{})
		if _, err := h.EnsureNotificationScheduler(t.Context(), nil, plan); err != nil {
			t.Fatal(err)
		}
		h.drain()
		s := only(h, notify.Schedules)
		if s.Status != notify.StatusReady || s.ReasonCode != reasons.ArtifactMissing || s.RetryCount != 1 || s.DueOn.Sub(storetest.Start) < 5*time.Minute {
			t.Fatalf("schedule is %+v", s)
		}
		h.clk.Set(s.DueOn)
		if _, err := h.EnsureNotificationJob(t.Context(), nil, job); err != nil {
			t.Fatal(err)
		}
		h.drain()
		h.status(notify.StatusSentToProvider)
	})
}

func TestAScheduleThatNeverFindsItsJobEndsOnHold(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		plan := notify.ScheduleFor(visit("7"), time.Time{})
		if _, err := h.EnsureNotificationScheduler(t.Context(), nil, plan); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			h.drain()
			h.clk.Add(2 * time.Hour)
		}
		s := only(h, notify.Schedules)
		h.same("hold", driver.SupportHold{IsOnSupportHold: true, HoldReason: reasons.RetriesExhausted}, s.SupportHold)
		if s.Status != notify.StatusFailed || s.RetryCount != 4 || !s.DueOn.IsZero() || s.EndedOn.IsZero() {
			t.Errorf("schedule is %+v", s)
		}
	})
}

// Its row stays as it is, version included: neither what the generator would do
// with a job that was woken again, nor the table of states, hides a touch.
func TestAScheduleOfAJobPastCreatedLeavesItAlone(t *testing.T) {
	for name, past := range map[string]func(*notify.JobRow){
		"in back-off": func(j *notify.JobRow) {
			j.Status, j.DueOn, j.RetryCount = notify.StatusReady, storetest.Start.Add(time.Hour), 1
		},
		"generating": func(j *notify.JobRow) { j.Status = notify.StatusGenerating },
		"generated":  func(j *notify.JobRow) { j.Status, j.EndedOn = notify.StatusGenerated, storetest.Start },
		"skipped":    func(j *notify.JobRow) { j.Status, j.EndedOn = notify.StatusSkipped, storetest.Start },
		"on hold": func(j *notify.JobRow) {
			j.Status, j.SupportHold = notify.StatusFailed, driver.SupportHold{IsOnSupportHold: true, HoldReason: reasons.RetriesExhausted}
		},
	} {
		t.Run(name, func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				h.dispatch(visit("7", person("sam")))
				edit(h, notify.Jobs, past)
				before := only(h, notify.Jobs)
				h.run("notify.scheduler")
				h.same("job", before, only(h, notify.Jobs))
				if s := only(h, notify.Schedules); s.Status != notify.StatusDispatched {
					t.Errorf("schedule is %s", s.Status)
				}
			})
		})
	}
}

// The same for a job whose messages are made and sent.
func TestASecondScheduleOfAJobThatWasSentSendsNothing(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		job := visit("7", person("sam"))
		h.dispatch(job)
		h.drain()
		before := only(h, notify.Jobs)
		second := notify.ScheduleFor(job, time.Time{})
		second.EventType = "visit-again"
		if _, err := h.EnsureNotificationScheduler(t.Context(), nil, second); err != nil {
			t.Fatal(err)
		}
		h.run("notify.scheduler")
		h.same("job", before, only(h, notify.Jobs))
		h.drain()
		if n := len(h.sent()); n != 1 {
			t.Errorf("%d calls", n)
		}
	})
}

func TestNothingHappensBeforeTheScheduleIsDue(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		job := visit("7", person("sam"))
		if _, err := h.EnsureNotificationJob(t.Context(), nil, job); err != nil {
			t.Fatal(err)
		}
		if _, err := h.EnsureNotificationScheduler(t.Context(), nil, notify.ScheduleFor(job, storetest.Start.Add(time.Hour))); err != nil {
			t.Fatal(err)
		}
		h.drain()
		if n := len(h.sent()); n != 0 {
			t.Fatalf("%d calls too early", n)
		}
		h.clk.Add(time.Hour)
		h.drain()
		h.status(notify.StatusSentToProvider)
	})
}

func TestATypeThatIsNotRegisteredHereIsLeftToOthers(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		job := visit("7", person("sam"))
		job.Type = "invoice"
		h.dispatch(job)
		h.drain()
		if s := only(h, notify.Schedules); s.Status != notify.StatusReady || s.RetryCount != 0 {
			t.Fatalf("schedule is %+v", s)
		}
		other := newHost(t, h.store, h.clk, h.provider, h.provider)
		other.Register(notify.Type{Name: "invoice", Renderer: visitTemplate})
		other.drain()
		h.status(notify.StatusSentToProvider)
	})
}

func TestUrgentTypesGoToTheUrgentLane(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.Register(notify.Type{Name: "reset", Urgent: true, Renderer: visitTemplate})
		job := visit("7", person("sam"), inbox("sam"))
		job.Type = "reset"
		h.dispatch(job)
		h.drain()
		for what, lane := range map[string]int16{
			"job": only(h, notify.Jobs).Lane, "schedule": only(h, notify.Schedules).Lane,
			"outgoing message": only(h, notify.Messages).Lane, "user message": only(h, notify.UserMessages).Lane,
		} {
			if lane != storage.LaneUrgent {
				t.Errorf("%s is in lane %d", what, lane)
			}
		}
	})
}

func TestTenantsWithEqualKeysNeverMeet(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		other := visit("7", person("sam"))
		other.Scope, other.EventData = "another", []byte(`{"Source":"other car","On":"2026-06-01"}`)
		h.dispatch(visit("7", person("sam")), other)
		h.drain()
		for scope, want := range map[notify.Scope]string{"tenant": "7 on 2026-05-01", "another": "other car on 2026-06-01"} {
			got, _, err := h.Support().Messages(t.Context(), scope, other.RowKey, storage.Page{})
			if err != nil || len(got) != 1 || got[0].Content.Subject != want {
				t.Errorf("tenant %q has %v, %v", scope, got, err)
			}
		}
	})
}
