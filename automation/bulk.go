package automation

import (
	"context"
	"fmt"
	"strconv"

	"github.com/belfry-go/belfry/storage"
)

// BulkReport is what a support action did to a page of rows, or would do.
type BulkReport struct {
	DryRun bool
	// Rows has every row that the selection found, in a fixed order,
	// those that were refused too.
	Rows             []Acted
	Changed, Refused int
	// Next continues behind this page, as [Selection].After; empty: there is no
	// more.
	Next string
}

// Bulk does what Hold, Release, Retry or Cancel does to each of the rows that sel
// finds in scope, one page of them in one transaction and few statements. A row
// that is refused does not stop the others; its answer says why. Each change is
// audited as a single one is. A dry run answers the same and writes nothing.
//
// An error means that nothing of the call was written. It is safe to repeat:
// what was done is refused the second time.
func (s *Scheduler) Bulk(ctx context.Context, scope Scope, action Action, sel Selection, by By, dryRun bool) (BulkReport, error) {
	q, err := sel.query()
	switch {
	case err != nil:
		return BulkReport{}, fmt.Errorf("automation: Bulk: Selection: %w", err)
	case scope == storage.AnyScope:
		return BulkReport{}, errAnyScope
	case supportActions[action] == nil:
		return BulkReport{}, fmt.Errorf("automation: Bulk: %.40q is not Hold, Release, Retry or Cancel", string(action))
	}
	if err := by.Check(); err != nil {
		return BulkReport{}, fmt.Errorf("automation: Bulk: %w", err)
	}
	report := BulkReport{DryRun: dryRun}
	err = s.inTx(ctx, func(tx storage.Tx) error {
		rows, err := schedules.Find(ctx, tx, scope, q)
		if err != nil {
			return err
		}
		report.Next = ""
		if len(rows) == q.Limit {
			report.Next = strconv.FormatInt(rows[len(rows)-1].ID, 36)
		}
		report.Rows, err = s.actOn(ctx, tx, rows, acting{action, by, dryRun})
		return err
	})
	if err != nil {
		return BulkReport{}, fmt.Errorf("automation: Bulk %s: %w", action, err)
	}
	for _, row := range report.Rows {
		if row.Refused != "" {
			report.Refused++
		}
	}
	report.Changed = len(report.Rows) - report.Refused
	return report, nil
}
