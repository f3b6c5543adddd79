package survey

import (
	"context"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/storage"
)

const (
	// ingestItems is how many items one transaction takes.
	ingestItems = 500
	// ingestRows and ingestBytes are how many rows one statement inserts, and how
	// much payload they have.
	ingestRows  = 1000
	ingestBytes = 4 << 20
)

// Ingest makes an instance for each item and each trigger that wants it (Triggers &
// Scheduler, "A worked example"). An event that has been told before, by anybody
// and at any time, is Skipped and makes none. An item that cannot be taken is
// Failed with a reason and stops no other. Nothing is sent here.
//
// The error is about the batch as a whole, or the store's. It may be ingested
// again after that, and after any crash: what was made already is Skipped.
func (s *Service) Ingest(ctx context.Context, b Batch) (IngestReport, error) {
	if err := b.check(); err != nil {
		return IngestReport{}, fmt.Errorf("survey: Ingest: %w", err)
	}
	items := make([]ItemReport, 0, len(b.Items))
	for chunk := range slices.Chunk(b.Items, ingestItems) {
		done, err := s.ingest(ctx, &b, chunk)
		if err != nil {
			return IngestReport{}, fmt.Errorf("survey: Ingest of %s: %w", b.EventKind, err)
		}
		items = append(items, done...)
	}
	return sum(items), nil
}

// ingest takes a chunk of the batch, in one transaction.
func (s *Service) ingest(ctx context.Context, b *Batch, chunk []Item) ([]ItemReport, error) {
	events, refused := make([]*event, len(chunk)), make([]string, len(chunk))
	for i := range chunk {
		var err error
		if events[i], err = newEvent(&chunk[i]); err != nil {
			refused[i] = err.Error()
		}
	}
	link, err := s.linkKeyFor(ctx, b.Scope)
	if err != nil {
		return nil, err
	}
	var done []ItemReport
	err = s.inTx(ctx, func(tx storage.Tx) error {
		in := &intake{s: s, tx: tx, batch: b, link: link, now: storage.Now(s.store), reports: make([]ItemReport, len(chunk))}
		if err := in.listen(ctx); err != nil {
			return err
		}
		for i, e := range events {
			in.reports[i].Reason = refused[i]
			if e == nil {
				continue
			}
			if err := in.take(ctx, i, e); err != nil {
				return err
			}
		}
		done = in.reports
		return in.flush(ctx)
	})
	return done, err
}
