package automation_test

import (
	"fmt"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage/memory"
)

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
// reads rows that change twice, in part and whole; their history is one more. Not
// parallel: what it found last is remembered for the whole process.
//
//spec:a-067
func TestTheNumberOfStatementsDoesNotGrowWithTheRows(t *testing.T) {
	for _, n := range []int{20, 499} {
		got := statements(t, n)
		for i, most := range [4]int{2, 3, 8, 8} {
			if got[i] > most {
				t.Errorf("%d rows: step %d takes %d statements, more than %d", n, i+1, got[i], most)
			}
		}
	}
}
