package sqlstore

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/storage/driver"
)

// preparation is what a store does before its first call, if its database was away when
// it was opened.
type preparation struct {
	done atomic.Bool
	turn chan struct{} // of the one who tries

	mono     clock.Clock
	failed   error // why the last one was in vain
	failedOn time.Time
}

// preparePause is how long after one that was in vain the next call tries again.
const preparePause = time.Second

type preparingKey struct{ store *Store }

// prepared checks the database and treats its migrations as the options say, if that has
// not been done yet. Until it has all calls fail with the reason.
func (s *Store) prepared(ctx context.Context) error {
	p := &s.preparation
	if p.done.Load() || ctx.Value(preparingKey{s}) != nil {
		return nil
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	switch {
	case p.done.Load():
		return nil
	case p.failed != nil && p.mono.Since(p.failedOn) < preparePause:
		return p.failed
	}
	inside := context.WithValue(ctx, preparingKey{s}, true)
	err := s.cfg.Prepare(inside)
	if err == nil {
		err = s.migrate(inside)
	}
	if err != nil && ctx.Err() == nil { // else it says nothing about the database
		p.failed, p.failedOn = &failure{op: "open", means: driver.ErrUnavailable, cause: err}, p.mono.Now()
		return p.failed
	}
	p.done.Store(err == nil)
	return err
}
