package automation_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
)

// Rows of a large call are not read if they are as they were inserted. Nobody can
// tell by the answers.
func TestManyKnownCandidatesAreAnsweredAsIfAskedOneByOne(t *testing.T) {
	eachWorld(t, func(w *world) {
		about := func(n int) automation.Candidate {
			return candidate(func(c *automation.Candidate) { c.Source.ID = fmt.Sprintf("c%03d", n) })
		}
		var all []automation.Candidate
		for n := range 120 {
			all = append(all, about(n))
		}
		created := w.ensure(all...)
		for range 20 { // behind a batch of new rows Ensure does not ask for a while
			w.ensure(all...)
		}
		w.change(created[3].Key, func(r *automation.Schedule) { automation.HoldRow(r, automation.HeldBySupport, "") })
		w.change(created[4].Key, func(r *automation.Schedule) { r.Status, r.EndedOn = automation.StatusCompleted, start })
		w.change(created[5].Key, func(r *automation.Schedule) { r.SendAt = "08:00" })

		fresh := slices.Clone(all)
		fresh[6].SendAt = "17:00"
		fresh = append(fresh, about(500), fresh[7])
		want := map[int]storage.Outcome{4: storage.Unchanged, 5: storage.Updated, 6: storage.Updated, 120: storage.Created}
		got := w.ensure(fresh...)
		for i, e := range got {
			outcome, named := want[i]
			if !named {
				outcome = storage.Unchanged
			}
			if e.Outcome != outcome {
				w.t.Errorf("candidate %d: %s instead of %s", i, e.Outcome, outcome)
			}
		}
		for i, c := range fresh {
			one := w.ensure(c)[0]
			if one.Outcome != storage.Unchanged {
				w.t.Errorf("candidate %d is %s when asked again", i, one.Outcome)
			}
			one.Outcome = got[i].Outcome
			if diff := cmp.Diff(one, got[i]); diff != "" {
				w.t.Errorf("candidate %d (-alone +among many):\n%s", i, diff)
			}
		}
	})
}
