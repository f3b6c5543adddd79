package main

import (
	"context"

	"github.com/belfry-go/belfry/automation"
)

// reportLog tells Belfry what is in the old scheduler's log.
func (s *story) reportLog(ctx context.Context) (all automation.OldReport, err error) {
	letters, err := s.old.outbox(ctx, 1)
	if err != nil {
		return all, err
	}
	for _, l := range letters {
		j, _, err := s.old.jobOf(l.key)
		if err != nil {
			return all, err
		}
		got, err := s.new.work.ReportOldRun(ctx, part(j.unit), automation.OldRun{Key: l.key, RanOn: l.ranOn})
		if err != nil {
			return all, err
		}
		all.Recorded += got.Recorded
		all.Known += got.Known
		all.Trespassed = append(all.Trespassed, got.Trespassed...)
		all.Doubled = append(all.Doubled, got.Doubled...)
	}
	s.happens("the old scheduler's log: %d runs are news, %d known, %d trespassed, %d doubled", all.Recorded, all.Known, len(all.Trespassed), len(all.Doubled))
	return all, nil
}
