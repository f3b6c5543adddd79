package notify

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/storage"
)

// DeadLetter is a change that a [StatusSubscriber] was not able to take.
type DeadLetter struct {
	// ID is where the next page goes on.
	ID        int64
	Attempts  int
	LastError string    // of the subscriber, at most 500 bytes
	On, Since time.Time // when it was given up, and when the change happened
}

// DeadLetters lists what was given up for a status subscriber, the oldest first.
// after is the ID of the last one of the page before; at most 1000 come at once.
func (n *Notifier) DeadLetters(ctx context.Context, scope Scope, subscriber string, after int64) ([]DeadLetter, error) {
	if scope == storage.AnyScope {
		return nil, errAnyScope
	}
	var out []DeadLetter
	err := n.inTx(ctx, nil, func(tx storage.Tx) error {
		rows, err := outbox.DeadLetters(ctx, tx, scope, subscriber, after, 0)
		out = make([]DeadLetter, len(rows))
		for i, d := range rows {
			out[i] = DeadLetter{ID: d.ID, Attempts: d.Attempts, LastError: d.Diagnostics, On: d.DeadOn, Since: d.CreatedOn}
		}
		return err
	})
	return out, err
}

// ReplayDeadLetters tells a subscriber again what was given up, at most a
// thousand of them, and says how many. They are due at once, with their attempts
// counted from zero, and the audit says who asked for it. A dry run only counts.
func (n *Notifier) ReplayDeadLetters(ctx context.Context, scope Scope, subscriber string, by By, dryRun bool) (int, error) {
	if scope == storage.AnyScope {
		return 0, errAnyScope
	}
	replayed := 0
	err := n.inTx(ctx, nil, func(tx storage.Tx) (err error) {
		replayed, err = outbox.ReplayDead(ctx, tx, scope, subscriber, 0, by, dryRun)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("notify: replay: %w", err)
	}
	return replayed, nil
}
