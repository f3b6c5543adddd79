package automation

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/census"
	"github.com/belfry-go/belfry/storage/driver"
)

// maxSkipped bounds the sources that a reconciliation remembers as skipped, and
// skippedRoom their bytes as JSON, counted as if each were escaped.
const (
	maxSkipped  = 100
	skippedRoom = 32 << 10
)

// skippedPage is the first page of a run: the sources that the runs before could not
// plan, which the scan does not give again. They are asked about as an event would,
// without the version and data of a scan.
func (s keeper) skippedPage(ctx context.Context, t ReminderType, run *ReconcileReport, skipped []Source) (*scannedPage, error) {
	p := s.newPage(t, run)
	for _, source := range skipped {
		p.take(ScannedSource{Source: source})
	}
	return p, p.work(ctx, run)
}

// skip brings the list up to date with a page that was committed, and reports how many
// sources it has no room for.
func (r *reconciliation) skip(p *scannedPage) (unlisted int) {
	for _, x := range p.sources {
		source := x.event.Source
		listed := slices.Contains(r.Skipped, source)
		switch fails := x.err != nil && !errors.Is(x.err, errElsewhere); {
		case listed && !fails:
			r.Skipped = slices.DeleteFunc(r.Skipped, func(s Source) bool { return s == source })
		case fails && !listed && r.lists(source):
			r.Skipped = append(r.Skipped, source)
		case fails && !listed:
			unlisted++
		}
	}
	switch {
	case len(r.Skipped) == 0:
		r.SkippedOn = time.Time{}
	case r.SkippedOn.IsZero():
		r.SkippedOn = p.now
	}
	return unlisted
}

// lists reports whether the list has room for a source.
func (r *reconciliation) lists(source Source) bool {
	size := 0
	for _, s := range append(slices.Clone(r.Skipped), source) {
		size += 6*(len(s.Type)+len(s.ID)) + len(`{"Type":"","ID":""},`)
	}
	return len(r.Skipped) < maxSkipped && size <= skippedRoom
}

// skippedSources names the scans that skip sources, for Health.
func skippedSources(ctx context.Context, c *census.Census) error {
	found, err := reconciliations.Everywhere().Find(ctx, c.From, driver.Query{
		Where: []driver.Cond{driver.AtMost("skipped_on", c.On())}, OrderBy: "skipped_on", Limit: maxSkipped,
	})
	out := c.Summary()
	for _, r := range found {
		if c.Covers(r.Scope) {
			out.Skipped = append(out.Skipped, health.Skipped{Scope: r.Scope, Kind: r.Kind, Sources: len(r.Skipped), Since: r.SkippedOn})
		}
	}
	return err
}
