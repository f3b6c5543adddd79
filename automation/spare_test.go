package automation

import (
	"errors"
	"fmt"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// A transaction that does not happen makes the rows that it inserted what they
// were, so until it has ended nobody else may have their memory.
func TestPlansOfAnOpenTransactionAreNotUsedAgain(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, _ *clock.Mock) {
		s := New(store, notify.New(store, nil), nil)
		const n = 50
		about := func(what string) []Candidate {
			all := make([]Candidate, n)
			for i := range all {
				all[i] = Candidate{
					Type: "certificate", Source: Source{"employee", fmt.Sprint(what, i)}, TargetDate: Date{Year: 2026, Month: 5, Day: 1},
					DaysBefore: 30, SendAt: "09:00", Zone: "UTC",
				}
			}
			return all
		}
		undo := errors.New("undo")
		for range 20 { // a pool forgets now and then, and other tests use it
			var others []plan
			err := s.InHostTx(t.Context(), func(bound *Scheduler, _ storage.Tx) error {
				if _, err := bound.Ensure(t.Context(), about("a")...); err != nil {
					return err
				}
				var err error
				if others, err = s.planner().plans(t.Context(), about("b")); err != nil {
					return err
				}
				for i := range others {
					others[i].want.ID = int64(i + 1)
				}
				return undo
			})
			if !errors.Is(err, undo) {
				t.Fatal(err)
			}
			for i := range others {
				if others[i].want.ID != int64(i+1) {
					t.Fatalf("plan %d was changed by a transaction that it has nothing to do with", i)
				}
			}
		}
	})
}
