package automation_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// Somebody has made the job of an immediate notification for something else, and
// no schedule: the event must not send that, while its other one goes out.
func TestI3_AConflictingImmediateNotificationGetsNoSchedule(t *testing.T) {
	eachWorld(t, func(w *world) {
		ask := []automation.Immediate{{Type: "taken", BusinessUnit: "north"}, {Type: "free", BusinessUnit: "north"}}
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Immediate = immediates(func(automation.Event) []automation.Immediate { return ask })
		}))
		e := automation.Event{ID: "e1", Type: "certificate-lost", Source: automation.Source{"employee", "7"}}
		theirs, err := automation.ImmediateJob(automation.Immediate{Type: "taken", BusinessUnit: "south"}, e)
		if err != nil {
			w.t.Fatal(err)
		}
		if _, err := w.out.Notifier.EnsureNotificationJob(w.ctx, nil, theirs); err != nil {
			w.t.Fatal(err)
		}

		got, err := w.s.HandleEvent(w.ctx, e)
		if conflict := (*notify.ConflictError)(nil); !errors.As(err, &conflict) || got.Outcome != automation.EventApplied {
			w.t.Fatalf("%+v, %v", got, err)
		}
		outcomes := []storage.Outcome{got.Immediate[0].Outcome, got.Immediate[1].Outcome}
		if diff := cmp.Diff([]storage.Outcome{storage.Conflict, storage.Created}, outcomes); diff != "" {
			w.t.Error(diff)
		}
		var scheduled []string
		for _, s := range w.out.schedules {
			scheduled = append(scheduled, s.ArtifactRowKey)
		}
		if diff := cmp.Diff([]string{"event:employee:7:certificate-lost:e1:free"}, scheduled); diff != "" {
			w.t.Error(diff)
		}
	})
}
