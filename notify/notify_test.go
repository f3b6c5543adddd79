package notify_test

import (
	"errors"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

func TestOneCallAsksForAMessage(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		job := visit("7", person("sam"))
		on := h.clk.Now().Add(time.Hour)
		for i, outcome := range []storage.Outcome{storage.Created, storage.Unchanged} {
			got, err := h.Notify(t.Context(), job, on.Add(time.Duration(i)*time.Hour))
			if err != nil || got.Outcome != outcome || got.Coordinates != job.Coordinates() {
				t.Fatal(got, err)
			}
		}
		h.drain()
		h.same("too early", 0, len(h.sent()))
		h.clk.Set(on)
		h.drain()
		h.same("sent", 1, len(h.sent()))
	})
}

func TestOneCallBelongsToTheHostsTransaction(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		err := h.store.InTx(t.Context(), func(tx storage.Tx) error {
			if _, err := h.WithTx(tx).Notify(t.Context(), visit("7", person("sam")), time.Time{}); err != nil {
				return err
			}
			return errLost
		})
		if !errors.Is(err, errLost) || len(all(h, notify.Jobs))+len(all(h, notify.Schedules)) != 0 {
			t.Error(err)
		}
	})
}

// What stands for something else is not scheduled, and the conflict is recorded.
func TestI3_AConflictAsksForNoSecondMessage(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.inOne(func(tx storage.Tx) error { // a job that nobody has scheduled
			_, err := h.EnsureNotificationJob(t.Context(), tx, visit("7", person("sam")))
			return err
		})
		other := visit("7", person("kim"))
		other.BusinessUnit = "south"
		var conflict *notify.ConflictError
		got, err := h.Notify(t.Context(), other, time.Time{})
		if !errors.As(err, &conflict) || conflict.Field != "BusinessUnit" || got.Outcome != storage.Conflict {
			t.Fatal(got, err)
		}
		h.drain()
		h.same("schedules, messages, conflicts", [3]int{0, 0, 1}, [3]int{len(all(h, notify.Schedules)), len(all(h, notify.Messages)), len(all(h, notify.Conflicts))})
		if _, err := h.Notify(t.Context(), visit("7", person("sam")), time.Time{}); err != nil {
			t.Fatal(err)
		}
		h.drain()
		h.status(notify.StatusSentToProvider)
		bad := visit("8")
		bad.Type = ""
		if _, err := h.Notify(t.Context(), bad, time.Time{}); !errors.Is(err, notify.ErrNoType) {
			t.Error(err)
		}
	})
}
