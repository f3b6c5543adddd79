package survey

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// channelRow says who serves a channel, over all processes; Key is the channel. It
// is never due.
type channelRow struct {
	storage.Record
	// ServedOn is when a process that has the channel last looked for due sends.
	ServedOn time.Time `db:"served_on"`
	// MissedSince is since when processes without it have seen sends wait for it, and
	// MissedOn the last time. After a gap it begins anew: nobody looked, so nobody
	// could take them.
	MissedSince time.Time `db:"missed_since"`
	MissedOn    time.Time `db:"missed_on"`
}

var channelRows = storage.Define[channelRow]("survey_channel")

// serving tells the other processes which channels this one has.
func (s *Service) serving(ctx context.Context, tx storage.Tx, now time.Time) error {
	var rows []*channelRow
	for key := range s.channels {
		rows = append(rows, &channelRow{Record: storage.Record{Key: key}, ServedOn: now})
	}
	_, err := channelRows.Ensure(ctx, tx, func(stored, _ *channelRow) (storage.Outcome, bool) {
		stored.ServedOn = now
		return storage.Updated, true
	}, rows...)
	return err
}

// missed notes that sends wait for channels that this process has not, and returns
// those that nobody has had for so long that their sends are to stop.
func (s *Service) missed(ctx context.Context, tx storage.Tx, now time.Time, keys []string) (gone map[string]bool, err error) {
	patience := s.options.UnclaimedAfter
	rows := make([]*channelRow, len(keys))
	for i, key := range keys {
		rows[i] = &channelRow{Record: storage.Record{Key: key}, MissedSince: now, MissedOn: now}
	}
	got, err := channelRows.Ensure(ctx, tx, func(stored, _ *channelRow) (storage.Outcome, bool) {
		if stored.MissedOn.IsZero() || now.Sub(stored.MissedOn) > patience {
			stored.MissedSince = now
		}
		stored.MissedOn = now
		return storage.Updated, true
	}, rows...)
	if err != nil {
		return nil, err
	}
	gone = map[string]bool{}
	for _, g := range got {
		if now.Sub(later(g.Row.MissedSince, g.Row.ServedOn)) >= patience {
			gone[g.Row.Key] = true
		}
	}
	return gone, nil
}
