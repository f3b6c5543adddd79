package automation_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
)

// switchedOff is a setting that an event of its own switches off: all its reminders end, but
// for the one that the event asks for itself.
type switchedOff struct {
	asked int
	open  bool // it was switched on again
}

func (*switchedOff) EventTypes() []string { return []string{"closed"} }

func (c *switchedOff) Invalidations(context.Context, automation.Event) ([]automation.Invalidation, error) {
	c.asked++
	if c.open {
		return nil, nil
	}
	return []automation.Invalidation{{Setting: "certificate", Reason: "Closed"}}, nil
}

func (*switchedOff) Wanted(_ context.Context, of []automation.Request) ([]automation.Answer, error) {
	return wants(of, func(r automation.Request) []automation.Candidate {
		return []automation.Candidate{candidate(func(c *automation.Candidate) { c.Source = r.Source })}
	})
}

func (*switchedOff) Notifications(context.Context, automation.Event) ([]automation.Immediate, error) {
	return []automation.Immediate{{}}, nil
}

// closed is the event, whose Version may be zero.
func closed(version int64) automation.Event {
	return automation.Event{ID: fmt.Sprint("closed ", version), Type: "closed", Source: automation.Source{"setting", "certificate"}, Version: version}
}

const ownKey = "reminder:certificate:setting:certificate:default:2026-05-01:30"

// full is a world with many open rows of a setting, behind a spy.
func full(t *testing.T, store storage.Store, clk *clock.Mock, rows int) (*world, *storetest.Spy, *switchedOff) {
	spy, provider := &storetest.Spy{Store: store}, &switchedOff{}
	w := newWorld(t, spy, clk, nil)
	w.s.Register(certificates(func(t *automation.ReminderType) {
		t.Triggers, t.Invalidations, t.Immediate = provider, provider, provider
	}))
	var many []automation.Candidate
	for n := range rows {
		many = append(many, candidate(func(c *automation.Candidate) { c.DaysBefore = -n }))
	}
	w.ensure(many...)
	return w, spy, provider
}

// readsAhead is how many transactions of a first event come before those that write: the
// epoch is read where it is planned ahead.
func readsAhead(version int64) int {
	if version > 0 {
		return 1
	}
	return 0
}

// mustBeClosed wants every row to have ended but for that of the event itself, which was
// told once.
func (w *world) mustBeClosed(rows int) {
	w.t.Helper()
	ended, open := 0, []string{}
	for key, status := range w.statuses() {
		if status == "Deactivated Closed" {
			ended++
		} else {
			open = append(open, key)
		}
	}
	if diff := cmp.Diff([]string{ownKey}, open); diff != "" || ended != rows {
		w.t.Errorf("%d of %d ended, others (-want +got):\n%s", ended, rows, diff)
	}
}

// An event about a setting with many rows holds up no other writer for long.
func TestAnEventThatEndsManyRowsEndsThemInPages(t *testing.T) {
	t.Parallel()
	for _, version := range []int64{0, 1} {
		each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
			const rows = 2*automation.DeactivatePage + 3
			w, spy, _ := full(t, store, clk, rows)
			saved, most := map[int]int{}, 0
			spy.SetHook(func(c storetest.Call) error {
				if c.Verb == storetest.Update && c.Table == "automation_scheduler" {
					saved[c.Number] += len(c.Rows)
					most = max(most, saved[c.Number])
				}
				return nil
			})
			got := w.handle(closed(version))
			if got.Outcome != automation.EventApplied || len(got.Deactivated) != rows || len(got.Ensured) != 1 || len(got.Immediate) != 1 {
				t.Errorf("version %d: %s, %d ended, %v, %v", version, got.Outcome, len(got.Deactivated), got.Ensured, got.Immediate)
			}
			if most > automation.DeactivatePage {
				t.Errorf("version %d: %d rows in one transaction", version, most)
			}
			spy.SetHook(nil)
			w.mustBeClosed(rows)
			if again := w.handle(closed(version)); version > 0 && (len(again.Deactivated) != 1 || again.Immediate[0].Outcome != storage.Unchanged) {
				t.Errorf("told again: %+v", again)
			}
			w.mustBeClosed(rows)
		})
	}
}

// Wherever it is lost, the same event told again does the rest.
func TestAnEventThatWasLostBetweenPagesIsToldAgain(t *testing.T) {
	t.Parallel()
	const rows, transactions = automation.DeactivatePage + 3, 2
	for _, version := range []int64{0, 1} {
		for _, reply := range []bool{false, true} {
			for number := range transactions {
				each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
					w, spy, _ := full(t, store, clk, rows)
					spy.SetHook(storetest.Lose(spy.Begun()+1+number+readsAhead(version), reply))
					_, err := w.s.HandleEvent(w.ctx, closed(version))
					spy.SetHook(nil)
					if err == nil {
						t.Errorf("transaction %d was not lost", number+1)
					}
					w.handle(closed(version))
					w.mustBeClosed(rows)
				})
			}
		}
	}
}

// A newer event of the source in between decides about what is left.
func TestANewerEventTakesOverFromOneThatEndsManyRows(t *testing.T) {
	t.Parallel()
	for _, version := range []int64{0, 1} {
		each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
			const rows = 2*automation.DeactivatePage + 3
			w, spy, provider := full(t, store, clk, rows)
			var newer automation.EventResult
			over := spy.Begun() + 1 + readsAhead(version)
			spy.SetHook(func(c storetest.Call) error {
				if c.Verb == storetest.Committed && c.Number == over {
					spy.SetHook(nil)
					provider.open = true
					next := closed(version)
					if next.ID = "opened"; version > 0 {
						next.Version++
					}
					var err error
					newer, err = w.s.HandleEvent(w.ctx, next)
					return err
				}
				return nil
			})
			got, err := w.s.HandleEvent(w.ctx, closed(version))
			if err := unlessStale(got, err); err != nil || newer.Outcome != automation.EventApplied {
				t.Error(err, newer)
			}
			if stale := errors.Is(err, automation.ErrStaleEvent); stale != (version > 0) || len(got.Deactivated) != automation.DeactivatePage {
				t.Errorf("version %d: %s, %d ended, %v", version, got.Outcome, len(got.Deactivated), err)
			}
		})
	}
}

// Inside the host's transaction it is all or nothing.
func TestAnEventInsideAHostsTransactionEndsAllRowsInIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		const rows = automation.DeactivatePage + 3
		w, spy, _ := full(t, store, clk, rows)
		before := w.statuses()
		begun := spy.Begun()
		undo := errors.New("undo")
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
			got, err := w.s.WithTx(tx).HandleEvent(w.ctx, closed(1))
			if err != nil || len(got.Deactivated) != rows || spy.Begun() != begun+1 {
				t.Errorf("%d ended, %d transactions, %v", len(got.Deactivated), spy.Begun()-begun, err)
			}
			return undo
		})
		if diff := cmp.Diff(before, w.statuses()); diff != "" || !errors.Is(err, undo) {
			t.Error(err, diff)
		}
	})
}
