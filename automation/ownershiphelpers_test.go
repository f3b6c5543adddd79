package automation

import (
	"encoding/json"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// certificatesPart is all work of the type in the empty scope.
var certificatesPart = RolloutPart{Type: "certificate"}

// guardCertificates registers the type under the guard.
func (w *world) guardCertificates(change func(*ReminderType)) {
	w.s.Register(certificates(func(t *ReminderType) {
		t.Guarded = true
		if change != nil {
			change(t)
		}
	}))
}

// to moves a part to a stage, forward step by step.
func (w *world) to(part RolloutPart, stage Stage) (last RolloutMove) {
	w.t.Helper()
	now, err := w.s.MoveRollout(w.ctx, part, StageDesign, ann, true)
	for next := min(now.From+1, stage); err == nil && next <= stage; next++ {
		last, err = w.s.MoveRollout(w.ctx, part, next, ann, false)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return last
}

// owner is who owns a run, and how far it has come.
func (w *world) owner(key string) string {
	w.t.Helper()
	o, err := w.s.Ownership(w.ctx, "", key)
	if err != nil {
		return err.Error()
	}
	return string(o.Owner) + " " + o.Status
}

func (w *world) owned(key string, want Owner, status string) {
	w.t.Helper()
	if got := w.owner(key); got != string(want)+" "+status {
		w.t.Errorf("%s: %s, want %s %s", key, got, want, status)
	}
}

// old is what the guard answers to the old scheduler when it delivers.
func (w *world) old(key, coordinates string) bool {
	w.t.Helper()
	got, err := w.s.DeliverForOldScheduler(w.ctx, "", OldRun{Key: key, Coordinates: json.RawMessage(coordinates)})
	if err != nil {
		w.t.Fatal(err)
	}
	return got[0].Granted
}

// asks is what the guard answers to the old scheduler before it begins.
func (w *world) asks(key string) bool {
	w.t.Helper()
	got, err := w.s.AcquireForOldScheduler(w.ctx, "", key)
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
func (w *world) setOwnership(key string, f func(*ownership)) {
	w.t.Helper()
	err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
		o, err := ownerships.Get(w.ctx, tx, "", key)
		if err != nil {
			return err
		}
		f(o)
		return ownerships.Save(w.ctx, tx, o)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// setStage writes a stage and moves nothing, like a move that was cut off.
func (w *world) setStage(part RolloutPart, stage Stage) {
	w.t.Helper()
	err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
		_, err := rollouts.Insert(w.ctx, tx, &rollout{
			Record:       storage.Record{Scope: part.Scope, Key: part.key(), Type: part.Type, Status: rolloutMoving},
			BusinessUnit: part.BusinessUnit, Setting: part.Setting, Source: part.Source, Stage: stage,
		})
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// whenDue is the moment of certificateKey.
var whenDue = time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)
