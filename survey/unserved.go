package survey

import (
	"context"
	"errors"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// sweepPage is how many of the oldest due sends one sweep looks at.
const sweepPage = 1000

// sweep tells which channels this process has, and frees sends that wait for one
// that nobody has had for [Options.UnclaimedAfter]: without a type they are claimed
// by any process, which stops them, or sends them if it has the channel after all.
// Any number of processes may do it at once.
func (s *Service) sweep(ctx context.Context) (err error) {
	for more := true; more && err == nil; {
		err = s.store.InTx(ctx, func(tx storage.Tx) (err error) {
			more, err = s.sweepOnce(ctx, tx)
			return err
		})
	}
	return err
}

func (s *Service) sweepOnce(ctx context.Context, tx storage.Tx) (more bool, err error) {
	now := storage.Now(s.store)
	if err := s.serving(ctx, tx, now); err != nil {
		return false, err
	}
	waiting, err := s.waiting(ctx, tx, now)
	if err != nil || len(waiting) == 0 {
		return false, err
	}
	keys := make([]string, 0, len(waiting))
	for key := range waiting {
		keys = append(keys, key)
	}
	gone, err := s.missed(ctx, tx, now, keys)
	if err != nil {
		return false, err
	}
	var free []*Instance
	for key := range gone {
		for _, r := range waiting[key] {
			if !r.DueOn.After(now.Add(-s.options.UnclaimedAfter)) {
				r.Type, r.ReasonCode = "", ReasonNoChannel
				free = append(free, r)
			}
		}
	}
	freed, err := s.free(ctx, tx, free)
	return len(free) == sweepPage && freed > 0, err
}

// free saves what it can and says how many: a stale row was taken by somebody, all the
// better.
func (s *Service) free(ctx context.Context, tx storage.Tx, rows []*Instance) (int, error) {
	err := instances.Save(ctx, tx, rows...)
	if stale := (*storage.StaleError)(nil); errors.As(err, &stale) {
		return len(rows) - len(stale.Rows), nil
	}
	return len(rows), err
}

// waiting are, by channel, the free sends among the oldest that are due whose
// channel this process has not. Those behind a backlog have their turn later.
func (s *Service) waiting(ctx context.Context, tx storage.Tx, now time.Time) (map[string][]*Instance, error) {
	rows, err := instances.Find(ctx, tx, storage.AnyScope, storage.Query{
		Where: []storage.Cond{
			storage.Eq("lane", int64(storage.LaneNormal)), storage.AtMost("due_on", now),
			storage.Greater("type", ""), storage.Null("lease_expires_on"), storage.In("status", active),
		},
		OrderBy: "due_on", Limit: sweepPage,
	})
	out := map[string][]*Instance{}
	for _, r := range rows {
		if s.channels[r.Type] == nil {
			out[r.Type] = append(out[r.Type], r)
		}
	}
	return out, err
}
