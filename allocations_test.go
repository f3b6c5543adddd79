package belfry_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage/memory"
)

// What a row costs on its way through a poll is watched by its allocations, which
// unlike its time are the same on every machine. It is not parallel, since it
// counts those of the whole process.
func TestAllocationsOfARow(t *testing.T) {
	const rows, most = 1000, 14
	clk := clock.NewMock()
	clk.Set(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	store := memory.New(&memory.Options{Clock: clk})
	s := automation.New(store, notify.New(store, nil), nil)
	s.Handle(automation.WorkType{Name: "export", Handler: automation.HandlerFunc(func(_ context.Context, due []automation.Due) ([]automation.Outcome, error) {
		return make([]automation.Outcome, len(due)), nil
	})})
	poller := belfry.NewPoller(store, nil, s)
	lap := 0
	fill := func() {
		lap++
		wanted := make([]automation.Candidate, rows)
		for i := range wanted {
			wanted[i] = automation.Candidate{AutomationType: "export", ScheduledOn: clk.Now(),
				Source: automation.Source{Type: "file", ID: fmt.Sprintf("%d-%d", lap, i)}}
		}
		if _, err := s.Ensure(t.Context(), wanted...); err != nil {
			t.Fatal(err)
		}
	}
	filled := testing.AllocsPerRun(3, fill)
	both := testing.AllocsPerRun(3, func() {
		fill()
		if r, err := poller.PollOnce(t.Context(), rows); err != nil || r.Settled != rows {
			t.Fatalf("%+v, %v", r, err)
		}
	})
	if perRow := (both - filled) / rows; perRow > most {
		t.Errorf("a row takes %.1f allocations, of at most %d", perRow, most)
	} else {
		t.Logf("a row takes %.1f allocations", perRow)
	}
}
