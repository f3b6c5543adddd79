package automation_test

import (
	"encoding/json"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
)

// certificatesPart is all work of the type in the empty scope.
var certificatesPart = automation.RolloutPart{Type: "certificate"}

// guardCertificates registers the type under the guard.
func (w *world) guardCertificates(change func(*automation.ReminderType)) {
	w.s.Register(certificates(func(t *automation.ReminderType) {
		t.Guarded = true
		if change != nil {
			change(t)
		}
	}))
}

// to moves a part to a stage, forward step by step.
func (w *world) to(part automation.RolloutPart, stage automation.Stage) (last automation.RolloutMove) {
	w.t.Helper()
	now, err := w.s.Rollout().MoveRollout(w.ctx, part, automation.StageDesign, ann, &automation.ActionOptions{DryRun: true})
	for next := min(now.From+1, stage); err == nil && next <= stage; next++ {
		last, err = w.s.Rollout().MoveRollout(w.ctx, part, next, ann, nil)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return last
}

// owner is who owns a run, and how far it has come.
func (w *world) owner(key string) string {
	w.t.Helper()
	o, err := w.s.Rollout().Ownership(w.ctx, "", key)
	if err != nil {
		return err.Error()
	}
	return string(o.Owner) + " " + o.Status
}

func (w *world) owned(key string, want automation.Owner, status string) {
	w.t.Helper()
	if got := w.owner(key); got != string(want)+" "+status {
		w.t.Errorf("%s: %s, want %s %s", key, got, want, status)
	}
}

// old is what the guard answers to the old scheduler when it delivers.
func (w *world) old(key, coordinates string) bool {
	w.t.Helper()
	got, err := w.s.Rollout().DeliverForOldScheduler(w.ctx, "", automation.OldRun{Key: key, Coordinates: json.RawMessage(coordinates)})
	if err != nil {
		w.t.Fatal(err)
	}
	return got[0].Granted
}

// asks is what the guard answers to the old scheduler before it begins.
func (w *world) asks(key string) bool {
	w.t.Helper()
	got, err := w.s.Rollout().AcquireForOldScheduler(w.ctx, "", key)
	if err != nil {
		w.t.Fatal(err)
	}
	return got[0].Granted
}

func (w *world) is(key, want string) {
	w.t.Helper()
	if got := w.statuses()[key]; got != want {
		w.t.Errorf("%s is %q, want %q", key, got, want)
	}
}

// setOwnership writes a row of the guard as a test wants to find it.
func (w *world) setOwnership(key string, f func(*automation.OwnershipRow)) {
	w.t.Helper()
	err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
		o, err := automation.Ownerships.Get(w.ctx, tx, "", key)
		if err != nil {
			return err
		}
		f(o)
		return automation.Ownerships.Save(w.ctx, tx, o)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// setStage writes a stage and moves nothing, like a move that was cut off.
func (w *world) setStage(part automation.RolloutPart, stage automation.Stage) {
	w.t.Helper()
	err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
		return automation.InsertMoving(w.ctx, tx, part, stage)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// whenDue is the moment of certificateKey.
var whenDue = time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)
