package automation_test

import (
	"fmt"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage/memory"
)

// thresholdStatements says how many statements it takes to measure n things, to
// say the same again, to see half of them fall and the rest go on, and to run
// what is left.
func thresholdStatements(t *testing.T, n int) (out [5]int) {
	clk := clock.NewMock()
	clk.Set(start)
	store, calls := storetest.Counting(memory.New(&memory.Options{Clock: clk}))
	w := newWorld(t, store, clk, nil)
	m := w.withMeter(nil)
	measure := func(low, high string) {
		var all []automation.Candidate
		for i := range n {
			reading := []string{low, high}[i%2]
			all = append(all, line{value: "10", reading: reading, scope: fmt.Sprint(i)}.under(policies[1+i%3]))
		}
		m.set(all...)
	}
	runner := w.runner()
	for i, step := range []func(){
		func() { measure("11", "12"); w.handle(booked(1)) },
		func() { w.handle(booked(1)) },
		func() { measure("9", "13"); w.handle(booked(2)) },
		func() { measure("11", "13"); w.handle(booked(3)) },
		func() {
			if report, err := runner.Poll(w.ctx, n); err != nil || report.Settled != n {
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

// Not parallel, for the reason that the test for dates gives.
func TestTheNumberOfStatementsDoesNotGrowWithTheThresholds(t *testing.T) {
	for _, n := range []int{20, 499} {
		got := thresholdStatements(t, n)
		for i, most := range [5]int{8, 9, 9, 11, 8 + n/50} { // readings are loaded for groups of 50 due rows
			if got[i] > most {
				t.Errorf("%d conditions: step %d takes %d statements, more than %d", n, i+1, got[i], most)
			}
		}
	}
}
