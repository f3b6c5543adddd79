package automation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// SeriesState is what is known about the series of an occurrence.
type SeriesState struct {
	// Active series have a next occurrence and go on.
	Active bool
	// Cadence is the rule in words for people, as "cron 0 9 * * 1".
	Cadence string
	Zone    string
	// Next is the current occurrence, whose row exists; zero: it has ended.
	Next time.Time
}

// seriesState reads the series behind a key of an occurrence, nil for others.
func seriesState(ctx context.Context, tx storage.Tx, scope Scope, key string) (*SeriesState, error) {
	of, _, ok := seriesOf(key)
	if !ok {
		return nil, nil
	}
	d, err := seriesTable.Get(ctx, tx, scope, of)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &SeriesState{Active: d.Active, Cadence: d.cadence(), Zone: d.TimeZone, Next: d.NextOn}, nil
}

// cadence is the rule as people read it.
func (d *series) cadence() string {
	text := "cron " + d.Cron
	if d.RRule != "" {
		text = "RRULE " + d.RRule + " at " + d.StartTime
	}
	if d.StartDate != "" {
		text += " from " + d.StartDate
	}
	if d.EndDate != "" {
		text += " to " + d.EndDate
	}
	return text
}

// series tells about the series behind the row.
func (e Explanation) series(b *strings.Builder) {
	switch d := e.Series; {
	case d == nil:
	case d.Active:
		fmt.Fprintf(b, "  recurs: %s, %s; next %s\n", d.Cadence, d.Zone, stampText(d.Next))
	default:
		fmt.Fprintf(b, "  recurs no more: %s, %s\n", d.Cadence, d.Zone)
	}
}
