package automation

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// lostLimit is how many series without a next row Health names.
const lostLimit = 100

// LostSeries is an active series whose current occurrence has come and has no
// row that could run: nothing of it happens any more. To ensure its candidate
// again, by an event or by reconciliation, mends it.
type LostSeries struct {
	Scope Scope
	Key   string // of the missing row
	Type  string
	Since time.Time // the occurrence
}

// lookAtSeries names series without a next row.
func (s *Scheduler) lookAtSeries(ctx context.Context, tx storage.Tx, h *Health) error {
	found, err := missingSeries(ctx, tx, h.On, lostLimit)
	if err != nil {
		return err
	}
	for _, d := range found {
		key, err := d.key(d.NextOn)
		if err != nil {
			return err
		}
		if h.covers(d.Scope) {
			h.Lost = append(h.Lost, LostSeries{d.Scope, key, d.Type, d.NextOn})
		}
	}
	return nil
}

func (h Health) lost(b *strings.Builder) {
	for _, l := range h.Lost {
		fmt.Fprintf(b, "\n  a series has no row since %s: %s", stampText(l.Since), l.Key)
	}
}
