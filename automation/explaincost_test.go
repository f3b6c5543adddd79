package automation_test

import (
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage/memory"
)

// explained says how many statements it takes to explain a row to which support
// did so many things, and how many of them are told.
func explained(t *testing.T, actions int) (statements, told int) {
	clk := clock.NewMock()
	clk.Set(start)
	store, calls := storetest.Counting(memory.New(&memory.Options{Clock: clk}))
	w := newWorld(t, store, clk, nil)
	w.s.Register(certificates(nil))
	w.ensure(candidate(nil))
	for n := range actions {
		act := w.s.Support().Hold
		if n%2 == 1 {
			act = w.s.Support().Release
		}
		if err := act(w.ctx, "", certificateKey, ann); err != nil {
			t.Fatal(err)
		}
	}
	calls.Take()
	e, err := w.s.Explain(w.ctx, "", certificateKey)
	if err != nil {
		t.Fatal(err)
	}
	return calls.Count(), len(e.History)
}

// A row that people fought over for years is explained as quickly as
// any other, by the last things that happened to it.
func TestExplainIsBoundedHoweverLongTheStory(t *testing.T) {
	t.Parallel()
	short, _ := explained(t, 2)
	long, told := explained(t, 400)
	if long > short || long > 6 {
		t.Errorf("%d statements, and %d for a short story", long, short)
	}
	if told > automation.MaxHistory+2 {
		t.Errorf("%d things are told", told)
	}
}
