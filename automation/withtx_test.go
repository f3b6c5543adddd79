package automation_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

func TestWhatABoundSchedulerDidVanishesWithItsTransaction(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(func(t *automation.ReminderType) {
			t.Immediate = immediates(func(automation.Event) []automation.Immediate { return []automation.Immediate{{}} })
		})
		p.set(offsets(date(2026, 6, 1), 30)...)
		w.ensure(candidate(nil))
		before := w.rows()
		lost := automation.Event{ID: "1", Type: "certificate-lost", Source: automation.Source{"employee", "7"}}
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
			s := w.s.WithTx(tx)
			if _, err := s.Ensure(w.ctx, candidate(func(c *automation.Candidate) { c.DaysBefore = 7 })); err != nil {
				w.t.Error(err)
			}
			if got, err := s.HandleEvent(w.ctx, changed(9)); err != nil || len(got.Deactivated) != 2 || got.Ensured[0].Outcome != storage.Created {
				w.t.Errorf("%+v %v", got, err)
			}
			if got, err := s.HandleEvent(w.ctx, lost); err != nil || got.Immediate[0].Outcome != storage.Created {
				w.t.Errorf("%+v %v", got, err)
			}
			if err := s.Support().Hold(w.ctx, "", key("2026-06-01", "30"), ann); err != nil {
				w.t.Error(err)
			}
			if e, err := s.Explain(w.ctx, "", key("2026-06-01", "30")); err != nil || !e.Schedule.IsOnSupportHold || len(e.History) != 2 {
				w.t.Errorf("%v %v", e, err)
			}
			return errBoom
		})
		if !errors.Is(err, errBoom) {
			w.t.Fatal(err)
		}
		if diff := cmp.Diff(before, w.rows()); diff != "" {
			w.t.Error(diff)
		}
		if e, err := w.s.Explain(w.ctx, "", key("2026-06-01", "30")); err != nil || e.Schedule != nil || len(e.History) != 0 {
			w.t.Errorf("%v %v", e, err)
		}
		if got := w.handle(changed(8)); got.Outcome != automation.EventApplied {
			w.t.Errorf("the source's order was left behind: %+v", got)
		}
		if got := w.handle(lost); got.Immediate[0].Outcome != storage.Created {
			w.t.Errorf("an immediate notification was left behind: %+v", got)
		}
	})
}

func TestWhatABoundSchedulerDidCommitsWithItsTransaction(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.ensure(candidate(nil))
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
			got, err := w.s.WithTx(tx).Ensure(w.ctx,
				candidate(func(c *automation.Candidate) { c.Identity = map[string]string{"course": "b"} }), candidate(func(c *automation.Candidate) { c.DaysBefore = 7 }))
			if err == nil || got[0].Outcome != storage.Conflict || got[1].Outcome != storage.Created {
				w.t.Errorf("%+v %v", got, err)
			}
			return nil // the conflict leaves the transaction usable
		})
		if err != nil {
			w.t.Fatal(err)
		}
		want := map[string]string{certificateKey: "Pending held InputConflict", key("2026-05-01", "7"): "Pending"}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
	})
}

func TestTypesRegisteredBeforeAndAfterBindingAreShared(t *testing.T) {
	eachWorld(t, func(w *world) {
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
			w.s.WithTx(tx).Register(certificates(nil))
			return nil
		})
		w.ensure(candidate(nil))
		w.pollAt(day(2026, 4, 1, 9))
		if row := w.row(certificateKey); row.Status != automation.StatusCompleted || err != nil {
			w.t.Error(row, err)
		}
	})
}

// n callers want the same thing at once.
func TestI2_ConcurrentEnsuresAgreeAndOneCreates(t *testing.T) {
	eachWorld(t, func(w *world) {
		const n = 16
		results := make([][]automation.Ensured, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				c := []automation.Candidate{candidate(nil), candidate(func(c *automation.Candidate) { c.DaysBefore = 7 }), candidate(func(c *automation.Candidate) { c.DaysBefore = 1 })}
				if i%2 == 1 {
					c[0], c[2] = c[2], c[0] // in another order
				}
				var err error
				if results[i], err = w.s.Ensure(w.ctx, c...); err != nil {
					w.t.Error(err)
				}
			})
		}
		wg.Wait()
		created, coordinates := map[string]int{}, map[string]automation.Ensured{}
		for _, result := range results {
			for _, e := range result {
				if e.Outcome == storage.Created {
					created[e.Key]++
				} else if e.Outcome != storage.Unchanged {
					w.t.Errorf("%+v", e)
				}
				e.Outcome = ""
				if first, ok := coordinates[e.Key]; ok && !cmp.Equal(first, e) {
					w.t.Error(cmp.Diff(first, e))
				}
				coordinates[e.Key] = e
			}
		}
		want := map[string]int{certificateKey: 1, key("2026-05-01", "7"): 1, key("2026-05-01", "1"): 1}
		if diff := cmp.Diff(want, created); diff != "" || len(w.rows()) != 3 {
			w.t.Error(diff)
		}
	})
}

// Two workers take turns on the due rows; each is dispatched once.
func TestConcurrentPollersDispatchEachRowOnce(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		var many []automation.Candidate
		for n := range 60 {
			many = append(many, candidate(func(c *automation.Candidate) { c.TriggerKey = string(rune('A' + n)) }))
		}
		w.ensure(many...)
		w.clk.Set(day(2026, 4, 1, 9))
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for w.poll().Claimed > 0 {
				}
			})
		}
		wg.Wait()
		for key, status := range w.statuses() {
			if status != automation.StatusCompleted {
				w.t.Error(key, status)
			}
		}
		got := w.out.dispatched()
		if len(got) != 60 {
			w.t.Errorf("%d dispatched", len(got))
		}
	})
}

// statements says how many statements it takes to make n rows, to say the same
// again, to move them by an event, and to run them when they are due.
func statements(t *testing.T, n int) (out [4]int) {
	clk := clock.NewMock()
	clk.Set(start)
	store, calls := storetest.Counting(memory.New(&memory.Options{Clock: clk}))
	w := newWorld(t, store, clk, nil)
	p := w.withTriggers(nil)
	var many []automation.Candidate
	for i := range n {
		many = append(many, candidate(func(c *automation.Candidate) { c.TriggerKey = fmt.Sprint(i) }))
	}
	runner := w.runner()
	for i, step := range []func(){
		func() { w.ensure(many...) },
		func() { w.ensure(many...) },
		func() {
			for i := range many {
				many[i].SendAt = "10:00"
			}
			p.set(many...)
			w.handle(changed(1))
		},
		func() {
			clk.Set(day(2026, 4, 1, 10))
			report, err := runner.Poll(w.ctx, n)
			if err != nil || report.Settled != n {
				t.Fatalf("%+v %v", report, err)
			}
		},
	} {
		calls.Take()
		step()
		out[i] = calls.Count()
	}
	return out
}

// Batches everywhere: rows cost no statements. Ensure reads first or inserts
// first, by what it found last, which makes the difference of a statement, and
// reads rows that change twice, in part and whole; their history is three more at most. Not
// parallel: what it found last is remembered for the whole process.
func TestTheNumberOfStatementsDoesNotGrowWithTheRows(t *testing.T) {
	for _, n := range []int{20, 499} {
		got := statements(t, n)
		settles := (n + 49) / 50                               // each group of due rows may be settled by itself
		for i, most := range [4]int{2, 3, 12, 6 + 4*settles} { // a first event reads the epoch twice, each other one once
			if got[i] > most {
				t.Errorf("%d rows: step %d takes %d statements, more than %d", n, i+1, got[i], most)
			}
		}
	}
}
