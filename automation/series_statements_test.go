package automation_test

import (
	"fmt"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage/memory"
)

// seriesStatements says how many statements it takes to make n series, to say
// the same again, to change the cadence of all by an event, and to run and move
// them when they are due.
func seriesStatements(t *testing.T, n int) (out [4]int) {
	clk := clock.NewMock()
	clk.Set(start)
	store, calls := storetest.Counting(memory.New(&memory.Options{Clock: clk}))
	w := newWorld(t, store, clk, nil)
	w.s.Register(certificates(func(t *automation.ReminderType) { t.Lateness.OnlyLatest = true }))
	var many []automation.Candidate
	for i := range n {
		many = append(many, daily(func(c *automation.Candidate) { c.TriggerKey = fmt.Sprint(i) }))
	}
	runner := w.runner()
	for i, step := range []func(){
		func() { w.ensure(many...) },
		func() { w.ensure(many...) },
		func() {
			for i := range many {
				many[i].Recurrence = &automation.Recurrence{Cron: "0 10 * * *"}
			}
			w.ensure(many...)
		},
		func() {
			clk.Set(day(2026, 3, 1, 10))
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

// Not parallel, as the test of other rows.
func TestTheNumberOfStatementsDoesNotGrowWithTheSeries(t *testing.T) {
	for _, n := range []int{20, 499} {
		got := seriesStatements(t, n)
		t.Log(n, got)
		for i, most := range [4]int{4, 6, 8, 24} {
			if got[i] > most {
				t.Errorf("%d series: step %d takes %d statements, more than %d", n, i+1, got[i], most)
			}
		}
	}
}
