package notify_test

import (
	"errors"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

func TestWhatIsCancelledInTimeIsNotSent(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		ctx, later := t.Context(), h.clk.Now().Add(time.Hour)
		byJob, bySchedule := visit("7", person("sam")), visit("8", person("kim"))
		for _, j := range []notify.Job{byJob, bySchedule} {
			if _, err := h.Notify(ctx, j, later); err != nil {
				t.Fatal(err)
			}
		}
		h.ensure(letter("a", "lee", func(m *notify.OutgoingMessage) { m.ScheduledOn = later }))
		plan := notify.ScheduleFor(bySchedule, later)
		guard, err := plan.Guard()
		if err != nil {
			t.Fatal(err)
		}
		for a, key := range map[notify.Artifact]string{
			notify.ArtifactNotificationJob: jobKey(byJob), notify.ArtifactNotificationScheduler: guard, notify.ArtifactOutgoingMessage: h.row("a").Key,
		} {
			if err := h.Support().Cancel(ctx, "another", a, key, support); !errors.Is(err, storage.ErrNotFound) {
				t.Errorf("another tenant: %v", err)
			}
			if err := h.Support().Cancel(ctx, "tenant", a, key, support); err != nil {
				t.Fatal(err)
			}
			if err := h.Support().Cancel(ctx, "tenant", a, key, support); !errors.Is(err, notify.ErrActionRefused) {
				t.Errorf("%s twice: %v", a, err)
			}
		}
		for range 2 { // also when it is asked for once more
			h.clk.Add(2 * time.Hour)
			h.drain()
			h.ensure(letter("a", "lee", func(m *notify.OutgoingMessage) { m.ScheduledOn = later }))
			if _, err := h.Notify(ctx, byJob, later); err != nil {
				t.Fatal(err)
			}
		}
		h.same("sent", 0, len(h.sent()))
		h.same("message", [2]string{notify.StatusCancelled, notify.ReasonCancelled}, [2]string{h.row("a").Status, h.row("a").ReasonCode})
		h.same("audit", []string{"Cancel by kim: Created to Cancelled"}, h.actions("notification_job", jobKey(byJob)))
	})
}

func jobKey(j notify.Job) string { return j.PartitionKey + "\x1f" + j.RowKey }

func TestAMessageWhoseCallHasBegunIsNotCancelled(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		cancel := func() error {
			return h.Support().Cancel(t.Context(), "tenant", notify.ArtifactOutgoingMessage, only(h, notify.Messages).Key, support)
		}
		h.waiting()
		h.dieCalling()
		if err := cancel(); !errors.Is(err, notify.ErrActionRefused) {
			t.Errorf("while it is called: %v", err)
		}
		h.clk.Add(lease)
		h.run("notify.distributor")
		h.status(notify.StatusOutcomeUnknown)
		if err := cancel(); !errors.Is(err, notify.ErrActionRefused) {
			t.Errorf("in doubt: %v", err)
		}
		job := only(h, notify.Jobs)
		if err := h.Support().Cancel(t.Context(), "tenant", notify.ArtifactNotificationJob, job.Key, support); !errors.Is(err, notify.ErrActionRefused) {
			t.Errorf("a job whose messages are made: %v", err)
		}
		if err := h.Support().Cancel(t.Context(), "tenant", notify.ArtifactMessagingJob, "spring", support); !errors.Is(err, notify.ErrActionRefused) {
			t.Errorf("a campaign: %v", err)
		}
	})
}

// A cancellation comes between the claim and the write before the call.
func TestI26_NoCallStartsForWhatWasCancelledAfterItsClaim(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.waiting()
		row := h.claim([]string{notify.StatusCreated}, notify.StatusSending)[0]
		if err := h.Support().Cancel(t.Context(), "tenant", notify.ArtifactOutgoingMessage, row.Key, support); err != nil {
			t.Fatal(err)
		}
		if err := h.Distribute(t.Context(), notify.Sending{Row: row, Ctx: t.Context(), Lease: lease}); err != nil {
			t.Fatal(err)
		}
		h.clk.Add(time.Hour)
		h.drain()
		h.status(notify.StatusCancelled)
		h.same("calls", 0, len(h.sent()))
	})
}
