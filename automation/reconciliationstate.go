package automation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// ReconciliationState says how far the background runs of a reminder type have
// come in a scope.
type ReconciliationState struct {
	Scope Scope
	Type  string
	// Off says that the scope is not allowed any more.
	Off bool
	// Watermark is the ChangedSince of the next run, CoveredUntil the last day of
	// the due window that a run has covered; zero before the first run completed.
	Watermark    time.Time
	CoveredUntil Date
	NextOn       time.Time        // of the next run, or of the next page of the one under way
	Current      *ReconcileReport // of the run under way, so far; nil: none is
	Last         *ReconcileReport // of the last completed run
	// Failures counts the tries that failed since the last good page; ReasonCode
	// and Diagnostics are those of the last one.
	Failures    int
	ReasonCode  Reason
	Diagnostics string
}

// maxReconciliations is how many reminder types of a scope are shown.
const maxReconciliations = 1000

// Reconciliations tells the state of all background runs in a scope, in the
// order of the types' names; there is none for a type that no Poller has seen.
func (s *Scheduler) Reconciliations(ctx context.Context, scope Scope) ([]ReconciliationState, error) {
	var out []ReconciliationState
	err := s.inTx(ctx, func(tx storage.Tx) error {
		rows, err := reconciliations.Find(ctx, tx, scope, storage.Query{OrderBy: "key", Limit: maxReconciliations})
		out = slices.Grow([]ReconciliationState(nil), len(rows))
		for _, row := range rows {
			out = append(out, row.state())
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("automation: Reconciliations: %w", err)
	}
	return out, nil
}

func (r *reconciliation) state() ReconciliationState {
	covered, _ := ParseDate(r.CoveredUntil) // empty: none
	return ReconciliationState{
		Scope: r.Scope, Type: r.Type, Off: r.Status == reconcileOff, Watermark: r.Watermark, CoveredUntil: covered,
		NextOn: r.DueOn, Current: r.Run, Last: r.Last, Failures: r.FailureCount, ReasonCode: r.ReasonCode, Diagnostics: r.Diagnostics,
	}
}
