package notify

import (
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

func TestADirectReminderArrivesOnceAtEachRecipient(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.dispatch(visit("7", person("sam"), person("kim")))
		h.drain()
		h.drain()
		to := map[string]Message{}
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
		h.same("message", Message{
			Channel: channelKey, To: "sam@example.com", Name: "sam", Subject: "7 on 2026-05-01", Text: "Dear sam",
			Locale: "en", Attempt: 1, On: storetest.Start,
		}, m)
		for _, m := range all(h, outgoingMessages) {
			if m.Status != StatusSentToProvider || m.ProviderMessageID != "accepted" || !m.SentOn.Equal(storetest.Start) || !m.DueOn.IsZero() {
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
		only(h, jobs)
		only(h, schedules)
		h.status(StatusSentToProvider)
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
		if n := len(all(h, outgoingMessages)); n != 2 {
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
	var items []work.Item[Job]
	for _, j := range all(h, jobs) {
		j.Status = StatusGenerating
		items = append(items, work.Item[Job]{Row: j, Ctx: h.t.Context(), Lease: lease})
	}
	if err := h.generateAll(h.t.Context(), items, landed); err != nil {
		h.t.Fatal(err)
	}
}

// regenerate makes the only job ready once more, as support would.
func (h *host) regenerate() {
	h.t.Helper()
	edit(h, jobs, func(j *Job) {
		j.Status, j.DueOn, j.EndedOn = StatusReady, storage.Now(h.store), time.Time{}
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
		for _, status := range []string{StatusSending, StatusSentToProvider, StatusDelivered, StatusOpened, StatusFailedFinal} {
			edit(h, outgoingMessages, func(m *OutgoingMessage) { m.Status, m.DueOn = status, storage.Now(h.store) })
			if n := h.run("notify.distributor"); n != 0 {
				t.Errorf("a message in %s was claimed", status)
			}
		}
		if n := len(h.sent()); n != 1 {
			t.Errorf("%d calls", n)
		}
	})
}

func inbox(name string) Recipient { return Recipient{Ref: name, Inbox: "user:" + name, Name: name} }

// Communication - Codebase flow, "Important tests".
func TestUIOnlyReminderMakesAUserMessageAndNoOutgoingMessage(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.dispatch(visit("7", inbox("sam")))
		h.drain()
		got, err := h.Inbox(t.Context(), "tenant", "user:sam", Page{})
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		h.same("content", Content{Subject: "7 on 2026-05-01", Text: "Dear sam"}, got[0].Content)
		if n := len(all(h, outgoingMessages)) + len(h.sent()); n != 0 {
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
		h.clk.Add(time.Hour) // the moment of writing is no part of the key
		h.drain()
		h.clk.Add(time.Hour)
		h.regenerate()
		m := only(h, userMessages)
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
		before := all(h, userMessages)
		h.inOne(func(tx storage.Tx) error { return userMessages.Delete(t.Context(), tx, before[0]) })
		h.regenerate()
		if after := all(h, userMessages); len(after) != 2 {
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
		only(h, schedules)
		h.status(StatusSentToProvider)
	})
}

func TestAScheduleWhoseJobIsMissingWaitsAndIsThenHeld(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		job := visit("7", person("sam"))
		plan := ScheduleFor(job, time.Time{})
		if _, err := h.EnsureNotificationScheduler(t.Context(), nil, plan); err != nil {
			t.Fatal(err)
		}
		h.drain()
		s := only(h, schedules)
		if s.Status != StatusReady || s.ReasonCode != ReasonArtifactMissing || s.RetryCount != 1 || s.DueOn.Sub(storetest.Start) < 5*time.Minute {
			t.Fatalf("schedule is %+v", s)
		}
		h.clk.Set(s.DueOn)
		if _, err := h.EnsureNotificationJob(t.Context(), nil, job); err != nil {
			t.Fatal(err)
		}
		h.drain()
		h.status(StatusSentToProvider)
	})
}

func TestAScheduleThatNeverFindsItsJobEndsOnHold(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		plan := ScheduleFor(visit("7"), time.Time{})
		if _, err := h.EnsureNotificationScheduler(t.Context(), nil, plan); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			h.drain()
			h.clk.Add(2 * time.Hour)
		}
		s := only(h, schedules)
		h.same("hold", SupportHold{true, HoldRetries}, s.SupportHold)
		if s.Status != StatusFailed || s.RetryCount != 4 || !s.DueOn.IsZero() || s.EndedOn.IsZero() {
			t.Errorf("schedule is %+v", s)
		}
	})
}

// Its row stays as it is, version included: neither what the generator would do
// with a job that was woken again, nor the table of states, hides a touch.
func TestAScheduleOfAJobPastCreatedLeavesItAlone(t *testing.T) {
	for name, past := range map[string]func(*Job){
		"in back-off": func(j *Job) { j.Status, j.DueOn, j.RetryCount = StatusReady, storetest.Start.Add(time.Hour), 1 },
		"generating":  func(j *Job) { j.Status = StatusGenerating },
		"generated":   func(j *Job) { j.Status, j.EndedOn = StatusGenerated, storetest.Start },
		"skipped":     func(j *Job) { j.Status, j.EndedOn = StatusSkipped, storetest.Start },
		"on hold":     func(j *Job) { j.Status, j.SupportHold = StatusFailed, SupportHold{true, HoldRetries} },
	} {
		t.Run(name, func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				h.dispatch(visit("7", person("sam")))
				edit(h, jobs, past)
				before := only(h, jobs)
				h.run("notify.scheduler")
				h.same("job", before, only(h, jobs))
				if s := only(h, schedules); s.Status != StatusDispatched {
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
		before := only(h, jobs)
		second := ScheduleFor(job, time.Time{})
		second.EventType = "visit-again"
		if _, err := h.EnsureNotificationScheduler(t.Context(), nil, second); err != nil {
			t.Fatal(err)
		}
		h.run("notify.scheduler")
		h.same("job", before, only(h, jobs))
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
		if _, err := h.EnsureNotificationScheduler(t.Context(), nil, ScheduleFor(job, storetest.Start.Add(time.Hour))); err != nil {
			t.Fatal(err)
		}
		h.drain()
		if n := len(h.sent()); n != 0 {
			t.Fatalf("%d calls too early", n)
		}
		h.clk.Add(time.Hour)
		h.drain()
		h.status(StatusSentToProvider)
	})
}

func TestATypeThatIsNotRegisteredHereIsLeftToOthers(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		job := visit("7", person("sam"))
		job.Type = "invoice"
		h.dispatch(job)
		h.drain()
		if s := only(h, schedules); s.Status != StatusReady || s.RetryCount != 0 {
			t.Fatalf("schedule is %+v", s)
		}
		other := newHost(t, h.store, h.clk, h.provider, h.provider)
		other.Register(Type{Name: "invoice", Renderer: visitTemplate})
		other.drain()
		h.status(StatusSentToProvider)
	})
}

func TestAChannelThatIsNotHereIsLeftToOthers(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		sender := h.rival(h.provider)
		maker := h.rival() // no channels at all
		maker.dispatch(visit("7", person("sam")))
		maker.drain()
		h.status(StatusCreated)
		sender.drain()
		h.status(StatusSentToProvider)
	})
}

func TestUrgentTypesGoToTheUrgentLane(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.Register(Type{Name: "reset", Urgent: true, Renderer: visitTemplate})
		job := visit("7", person("sam"), inbox("sam"))
		job.Type = "reset"
		h.dispatch(job)
		h.drain()
		for what, lane := range map[string]int16{
			"job": only(h, jobs).Lane, "schedule": only(h, schedules).Lane,
			"outgoing message": only(h, outgoingMessages).Lane, "user message": only(h, userMessages).Lane,
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
		for scope, want := range map[Scope]string{"tenant": "7 on 2026-05-01", "another": "other car on 2026-06-01"} {
			got, err := h.Messages(t.Context(), scope, other.RowKey, Page{})
			if err != nil || len(got) != 1 || got[0].Content.Subject != want {
				t.Errorf("tenant %q has %v, %v", scope, got, err)
			}
		}
	})
}
