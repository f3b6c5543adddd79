package survey

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/hush"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
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

var channelRows = driver.Define[channelRow]("survey_channel").Grows(driver.Bounded).
	Kept(driver.Always, "one a channel")

// serving tells the other processes which channels this one has.
func (s *core) serving(ctx context.Context, tx storage.Tx, now time.Time) error {
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
func (s *core) missed(ctx context.Context, tx storage.Tx, now time.Time, keys []string) (gone map[string]bool, err error) {
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

// servedPass sweeps from time to time beside the pass.
type servedPass struct {
	work.Pass
	s *core
}

func (p servedPass) Runner(o work.Options) work.Runner {
	return &servedRunner{Runner: p.Pass.Runner(o), s: p.s}
}

type servedRunner struct {
	work.Runner
	s *core

	sweeping sync.Mutex // held by the one who sweeps
	sweptOn  time.Time
}

// sweepEvery is often enough for a channel to be told from one that nobody has.
func (s asker) sweepEvery() time.Duration { return s.options.UnclaimedAfter / 4 }

// Poll sweeps first if it is time. A sweep that fails does not stop the pass.
func (r *servedRunner) Poll(ctx context.Context, batch int) (work.Report, error) {
	r.sweepInTime(ctx)
	return r.Runner.Poll(ctx, batch)
}

// sweepInTime sweeps unless somebody else does: a poll waits for no sweep but its own.
func (r *servedRunner) sweepInTime(ctx context.Context) {
	if !r.sweeping.TryLock() {
		return
	}
	defer r.sweeping.Unlock()
	now := driver.Now(r.s.store)
	if !r.sweptOn.IsZero() && now.Sub(r.sweptOn) < r.s.asker().sweepEvery() {
		return
	}
	if r.sweep(ctx) {
		r.sweptOn = now
	}
}

// Run sweeps beside the pass.
func (r *servedRunner) Run(ctx context.Context) error {
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		r.sweepUntil(ctx)
	}()
	defer func() { <-swept }()
	return r.Runner.Run(ctx)
}

func (r *servedRunner) sweepUntil(ctx context.Context) {
	for {
		r.sweep(ctx)
		select {
		case <-ctx.Done():
			return
		case <-r.s.store.Clock().After(r.s.asker().sweepEvery()):
		}
	}
}

func (r *servedRunner) sweep(ctx context.Context) bool {
	err := r.s.asker().sweep(ctx)
	if err != nil && ctx.Err() == nil {
		hush.Warn(ctx, r.s.options.Logger, "belfry: sends that nobody serves could not be looked for", "pass", "survey.send", "error", err)
	}
	return err == nil
}

// sweepPage is how many of the oldest due sends one sweep looks at.
const sweepPage = 1000

// sweep tells which channels this process has, and frees sends that wait for one
// that nobody has had for [Options.UnclaimedAfter]: without a type they are claimed
// by any process, which stops them, or sends them if it has the channel after all.
// Any number of processes may do it at once.
func (s asker) sweep(ctx context.Context) (err error) {
	for more := true; more && err == nil; {
		err = s.store.InTx(ctx, func(tx storage.Tx) (err error) {
			more, err = s.sweepOnce(ctx, tx)
			return err
		})
	}
	return err
}

func (s asker) sweepOnce(ctx context.Context, tx storage.Tx) (more bool, err error) {
	now := driver.Now(s.store)
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
	var free []*instanceRow
	for key := range gone {
		for _, r := range waiting[key] {
			if !r.DueOn.After(now.Add(-s.options.UnclaimedAfter)) {
				r.Kind, r.ReasonCode = "", ReasonNoChannel
				free = append(free, r)
			}
		}
	}
	freed, err := s.free(ctx, tx, free)
	return len(free) == sweepPage && freed > 0, err
}

// free saves what it can and says how many: a stale row was taken by somebody, all the
// better.
func (s asker) free(ctx context.Context, tx storage.Tx, rows []*instanceRow) (int, error) {
	err := instances.Save(ctx, tx, rows...)
	if stale := (*storage.StaleError)(nil); errors.As(err, &stale) {
		return len(rows) - len(stale.Rows), nil
	}
	return len(rows), err
}

// waiting are, by channel, the free sends among the oldest that are due whose
// channel this process has not. Those behind a backlog have their turn later.
func (s asker) waiting(ctx context.Context, from driver.Reader, now time.Time) (map[string][]*instanceRow, error) {
	rows, err := instances.Everywhere().Find(ctx, from, driver.Query{
		Where: []driver.Cond{
			driver.Eq("lane", int64(storage.LaneNormal)), driver.AtMost("due_on", now),
			driver.Greater("kind", ""), driver.Null("lease_expires_on"), driver.In("status", active),
		},
		OrderBy: "due_on", Limit: sweepPage,
	})
	out := map[string][]*instanceRow{}
	for _, r := range rows {
		if s.channels[r.Kind] == nil {
			out[r.Kind] = append(out[r.Kind], r)
		}
	}
	return out, err
}
