package automation_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/permanent"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// meanwhile has something happen while a worker looks at the first due row, whose try
// then ends with an error.
func (w *world) meanwhile(do func(), ends error) *triggers {
	p := &triggers{candidates: []automation.Candidate{candidate(nil)}}
	first := true
	w.s.Register(certificates(func(t *automation.ReminderType) {
		t.Triggers = p
		t.Recipients = automation.RecipientFunc(func(ctx context.Context, d automation.Due) ([]notify.Recipient, error) {
			if !first {
				return toSam(ctx, d)
			}
			first = false
			do()
			return []notify.Recipient{sam}, ends
		})
	}))
	return p
}

func later17(c *automation.Candidate) { c.SendAt = "17:00" }

// wantOnceAt17 looks at a row that was moved from nine to five.
func (w *world) wantOnceAt17() {
	w.t.Helper()
	w.pollAt(day(2026, 4, 1, 16))
	if r := w.row(certificateKey); r.Status != automation.StatusPending || !r.DueOn.Equal(day(2026, 4, 1, 17)) || !r.LeaseExpiresOn.IsZero() {
		w.t.Errorf("%s, due on %s, lease until %s", r.Status, r.DueOn, r.LeaseExpiresOn)
	}
	if got := w.out.dispatched(); len(got) != 0 {
		w.t.Errorf("dispatched at the old moment: %v", got)
	}
	w.pollAt(day(2026, 4, 1, 17))
	w.pollAt(day(2026, 5, 1, 9))
	if got := w.out.dispatched(); !slices.Equal(got, []string{certificateKey}) {
		w.t.Errorf("dispatched %v", got)
	}
}

func TestAChangeUnderAWorkerIsRemembered(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]error{
		"the try succeeds": nil, "the try fails": errBoom, "the try fails for good": permanent.Mark(errBoom),
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				var got automation.Ensured
				w.meanwhile(func() { got = w.ensure(candidate(later17))[0] }, ends)
				w.ensure(candidate(nil))
				w.pollAt(day(2026, 4, 1, 9))
				if got.Outcome != storage.InFlight || !got.ScheduledOn.Equal(day(2026, 4, 1, 17)) {
					w.t.Errorf("%+v", got)
				}
				w.wantOnceAt17()
			})
		})
	}
}

// A worker that dies, or stalls, loses its lease; the wish outlives it.
func TestAChangeUnderADeadWorkerIsRemembered(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(candidate(nil))
		w.clk.Set(day(2026, 4, 1, 9))
		w.claim(time.Minute)
		w.ensure(candidate(later17))
		w.pollAt(day(2026, 4, 1, 9).Add(2 * time.Minute))
		if r := w.row(certificateKey); r.LeaseLossCount != 1 {
			w.t.Errorf("%d leases lost", r.LeaseLossCount)
		}
		w.wantOnceAt17()
	})
}

// A scan says the same to a row that a worker has, and the next one need not come:
// it may see no change any more.
func TestAScanReachesARowUnderAWorker(t *testing.T) {
	eachWorld(t, func(w *world) {
		s := w.withStaff(nil)
		w.hire(s, 1)
		w.hear(s, "000")
		key := keyOf("000", "2026-05-01", 30)
		w.change(key, func(r *automation.ScheduleRow) { r.SendAt, r.ScheduledOn = "08:00", day(2026, 4, 1, 8) })
		w.clk.Set(day(2026, 4, 1, 9))
		w.claim(time.Minute)
		dry := w.reconcile(automation.ReconcileOptions{FromStart: true, DryRun: true})
		got := w.reconcile(automation.ReconcileOptions{FromStart: true})
		if r := w.row(key); dry.Updated != 1 || got.Updated != 1 || r.SendAt != "09:00" || r.Status != automation.StatusProcessing {
			w.t.Errorf("%d would be updated, %d are; %s at %s", dry.Updated, got.Updated, r.Status, r.SendAt)
		}
		if again := w.reconcile(automation.ReconcileOptions{FromStart: true}); again.Unchanged != 1 {
			w.t.Errorf("and once more: %+v", again)
		}
	})
}

// Events say the same as Ensure, whatever they say one after the other.
func TestEventsUnderAWorker(t *testing.T) {
	t.Parallel()
	moved := automation.Candidate{TargetDate: date(2026, 5, 1), DaysBefore: 30, SendAt: "17:00", Zone: "UTC"}
	for name, asks := range map[string][][]automation.Candidate{
		"one moves":                     {{moved}},
		"one ends, another brings back": {{}, {moved}},
		"one moves, another ends":       {{moved}, {}},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				var p *triggers
				p = w.meanwhile(func() {
					for n, asked := range asks {
						p.set(asked...)
						w.handle(changed(int64(2 + n)))
					}
				}, errBoom)
				w.ensure(candidate(nil))
				w.pollAt(day(2026, 4, 1, 9))
				if len(asks[len(asks)-1]) > 0 {
					w.wantOnceAt17()
					return
				}
				w.pollAt(day(2026, 5, 1, 9))
				if r := w.row(certificateKey); r.Status != automation.StatusDeactivated || !r.LeaseExpiresOn.IsZero() || len(w.out.dispatched()) != 0 {
					w.t.Errorf("%s until %s, dispatched %v", r.Status, r.LeaseExpiresOn, w.out.dispatched())
				}
			})
		})
	}
}

func TestAnotherInputUnderAWorkerIsAConflict(t *testing.T) {
	eachWorld(t, func(w *world) {
		var got error
		w.meanwhile(func() {
			_, got = w.s.Ensure(w.ctx, candidate(func(c *automation.Candidate) { c.Identity = map[string]string{"course": "b"} }))
		}, nil)
		w.ensure(candidate(nil))
		w.pollAt(day(2026, 4, 1, 9))
		if conflict := (*notify.ConflictError)(nil); !errors.As(got, &conflict) {
			w.t.Errorf("%v", got)
		}
		if r := w.row(certificateKey); !r.IsOnSupportHold || r.HoldReason != reasons.InputConflict || r.Status != automation.StatusPending || len(w.out.dispatched()) != 0 {
			w.t.Errorf("%+v, dispatched %v", r, w.out.dispatched())
		}
		w.must(w.s.Support().Release(w.ctx, "", certificateKey, ann))
		w.poll()
		if got := w.out.dispatched(); !slices.Equal(got, []string{certificateKey}) {
			w.t.Errorf("dispatched %v", got)
		}
	})
}
