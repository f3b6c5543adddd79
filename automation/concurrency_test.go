package automation_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
)

// n callers want the same thing at once.
//
//spec:a-020 a-040
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
//
//spec:a-003 a-048
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
