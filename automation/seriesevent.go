package automation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/storage"
)

// stopSeries ends the series of the rows. A settling pass may have moved one on
// while its row was looked at: then the row of the new occurrence ends as well.
func (d *ending) stopSeries(ctx context.Context) error {
	for range 5 {
		if len(d.series) == 0 {
			return nil
		}
		found, err := findSeries(ctx, d.tx, d.event.Scope, d.series)
		if err != nil {
			return err
		}
		found = slices.DeleteFunc(found, func(s *series) bool { return !s.Active })
		for _, s := range found {
			s.Active = false
			s.EventType, s.EventID = d.event.Type, d.event.ID
		}
		if err = seriesTable.Save(ctx, d.tx, found...); !errors.Is(err, storage.ErrStale) {
			if err != nil {
				return err
			}
			return d.endCurrent(ctx, found)
		}
	}
	return fmt.Errorf("automation: series kept changing while an event ended them: %w", storage.ErrBusy)
}

// endCurrent ends the rows of current occurrences that still run.
func (d *ending) endCurrent(ctx context.Context, stopped []*series) error {
	rows, err := occurrencesOf(ctx, d.tx, stopped)
	if err != nil {
		return err
	}
	var running []*Schedule
	for _, row := range rows {
		if runs(row) {
			running = append(running, row)
		}
	}
	d.why = func(row *Schedule) (Reason, bool) { return d.series[row.seriesKey()], true }
	return d.end(ctx, running)
}

// deactivateOnly ends rows and nothing else: the series of an occurrence that
// ends goes on behind it.
func (s *Scheduler) deactivateOnly(ctx context.Context, tx storage.Tx, e Event, where []storage.Cond, why func(*Schedule) (Reason, bool)) ([]Deactivation, error) {
	d, err := s.endRows(ctx, tx, e, actor(e.Type, e.ID), where, why)
	if err != nil {
		return nil, err
	}
	var left []gone
	for _, ended := range d.ended {
		if key, on, ok := seriesOf(ended.Key); ok {
			left = append(left, gone{scope: e.Scope, series: key, on: on, reason: ended.Reason})
		}
	}
	return d.ended, s.advance(ctx, tx, left)
}
