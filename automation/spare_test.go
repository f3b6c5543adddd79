package automation

import (
	"errors"
	"fmt"
	"testing"

	"github.com/belfry-go/belfry/storage"
)

// A transaction that does not happen makes the rows that it inserted what they
// were, so until it has ended nobody else may have their memory.
func TestPlansOfAnOpenTransactionAreNotUsedAgain(t *testing.T) {
	eachWorld(t, func(w *world) {
		const n = 50
		about := func(what string) []Candidate {
			all := make([]Candidate, n)
			for i := range all {
				all[i] = candidate(func(c *Candidate) { c.Source.ID = fmt.Sprint(what, i) })
			}
			return all
		}
		undo := errors.New("undo")
		for range 20 { // a pool forgets now and then, and other tests use it
			var others []plan
			err := w.s.InTx(w.ctx, func(bound *Scheduler, _ storage.Tx) error {
				if _, err := bound.Ensure(w.ctx, about("a")...); err != nil {
					return err
				}
				var err error
				if others, err = w.s.plans(w.ctx, about("b")); err != nil {
					return err
				}
				for i := range others {
					others[i].want.ID = int64(i + 1)
				}
				return undo
			})
			if !errors.Is(err, undo) {
				w.t.Fatal(err)
			}
			for i := range others {
				if others[i].want.ID != int64(i+1) {
					w.t.Fatalf("plan %d was changed by a transaction that it has nothing to do with", i)
				}
			}
		}
	})
}
