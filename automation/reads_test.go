package automation_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/causes"
	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// Whoever only looks waits for no writer: lists, explanations and rehearsals answer
// while another transaction has the lock of the one that SQLite lets write.
func TestWhoeverOnlyLooksWaitsForNoWriter(t *testing.T) {
	eachWorld(t, func(w *world) {
		m := w.withMeter(nil)
		m.set(line{value: "10", reading: "15"}.under(threshold.FalseToTrue))
		w.handle(booked(1))
		s := &staff{people: map[string]person{}, offsets: []int{30, 7}, sendAt: "09:00"}
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Guarded, t.Lateness.OnlyLatest, t.Triggers = true, true, s
			t.Scan = &automation.Scan{Read: s.Read, SourceType: "employee", Window: 100, Batch: 2, Scopes: []automation.Scope{""}}
		}))
		w.to(certificatesPart, cutover.StageScheduled)
		w.hire(s, 3)
		w.ensure(daily(nil), candidate(nil))
		storetest.BesideAWriter(w.t, w.store, w.reads())
	})
}

// rehearsed is an error if a step of a rehearsal failed, which an explanation tells.
func rehearsed(text string) error {
	if strings.Contains(text, "would fail") {
		return errors.New(text)
	}
	return nil
}

// reads are calls that only look.
func (w *world) reads() map[string]func(context.Context) error {
	support, rollout, upkeep := w.s.Support(), w.s.Rollout(), w.s.Maintenance()
	page, window := storage.Page{}, cutover.Window{From: start.AddDate(0, 0, -7)}
	explain := func(key string) func(context.Context) error {
		return func(ctx context.Context) error {
			e, err := w.s.Explain(ctx, "", key)
			return errors.Join(err, rehearsed(e.Now))
		}
	}
	missing := func(setting string, source automation.Source) func(context.Context) error {
		return func(ctx context.Context) error {
			a, err := w.s.ExplainMissing(ctx, "", setting, source)
			return errors.Join(err, rehearsed(a.String()))
		}
	}
	return map[string]func(context.Context) error{
		"Explain, a date":             explain(certificateKey),
		"Explain, an occurrence":      explain(on(day(2026, 3, 1, 9))),
		"Explain, a condition":        explain(thresholdKey("10:FalseToTrue:source@1")),
		"Explain, no row":             explain(on(day(2026, 3, 9, 9))),
		"ExplainMissing, a date":      missing("certificate", automation.Source{Type: "employee", ID: "1"}),
		"ExplainMissing, a condition": missing("capacity", automation.Source{Type: "class", ID: "7"}),
		"ExplainMissing, it is there": missing("certificate", automation.Source{Type: "employee", ID: "7"}),
		"Health":                      func(ctx context.Context) error { _, err := w.s.Health(ctx, storage.Everywhere()); return err },
		"Preview":                     func(ctx context.Context) error { _, err := w.s.Preview(ctx, daily(nil), 3); return err },
		"Pauses":                      func(ctx context.Context) error { _, err := support.Pauses(ctx, ""); return err },
		"ReportRuns": func(ctx context.Context) error {
			_, _, err := support.ReportRuns(ctx, "", automation.ReportRuns{})
			return err
		},
		"Rollouts":           func(ctx context.Context) error { _, err := rollout.Rollouts(ctx, ""); return err },
		"Ownership":          func(ctx context.Context) error { _, err := rollout.Ownership(ctx, "", certificateKey); return err },
		"OwnershipConflicts": func(ctx context.Context) error { _, _, err := rollout.OwnershipConflicts(ctx, "", page); return err },
		"Compare": func(ctx context.Context) error {
			_, err := rollout.Compare(ctx, certificatesPart, window, 0)
			return err
		},
		"Reconciliations": func(ctx context.Context) error { _, err := upkeep.Reconciliations(ctx, ""); return err },
		"Reconcile, dry": func(ctx context.Context) error {
			_, err := upkeep.Reconcile(ctx, "", "certificate", &automation.ReconcileOptions{DryRun: true})
			return err
		},
		"Revalidate": func(ctx context.Context) error {
			_, err := w.s.Revalidator().Revalidate(ctx, []notify.Job{{SourceKey: certificateKey}})
			return err
		},
	}
}

// In a host's transaction one reads what it has written.
func TestWhatATransactionHasWrittenIsReadInIt(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		err := w.s.InHostTx(w.ctx, func(bound *automation.Scheduler, _ storage.Tx) error {
			if _, err := bound.Ensure(w.ctx, candidate(nil)); err != nil {
				return err
			}
			all := automation.Extent{Type: "certificate"}
			if err := bound.Support().Pause(w.ctx, all, time.Time{}, ann); err != nil {
				return err
			}
			if e, err := bound.Explain(w.ctx, "", certificateKey); err != nil || e.Schedule == nil || len(e.Pauses) != 1 {
				w.t.Errorf("%+v %v", e, err)
			}
			if a, err := bound.ExplainMissing(w.ctx, "", "certificate", automation.Source{Type: "employee", ID: "7"}); err != nil || a.Cause != causes.Exists {
				w.t.Errorf("%+v %v", a, err)
			}
			if pauses, err := bound.Support().Pauses(w.ctx, ""); err != nil || len(pauses) != 1 {
				w.t.Errorf("%+v %v", pauses, err)
			}
			return nil
		})
		w.must(err)
	})
}
