package work

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// clockTrusted refuses to claim while the store's idea of the time may be off by
// more than a quarter of a lease.
func (r *runner[R, A]) clockTrusted() error {
	c, ok := r.store.Clock().(interface{ Uncertainty() time.Duration })
	if ok && c.Uncertainty() > r.o.Lease/4 {
		return fmt.Errorf("work: the clock may be off by %v, which is too much for a lease of %v: %w", c.Uncertainty(), r.o.Lease, storage.ErrUnavailable)
	}
	return nil
}

// take commits one claim; only then does the work start. It leaves out what the pass
// leaves alone.
func (r *runner[R, A]) take(ctx context.Context, c driver.Claim) (rows []*R, err error) {
	if c.Token, err = token(r.store.Rand()); err != nil {
		return nil, err
	}
	claimed, begun := r.tel.claiming(ctx), r.mono.Now()
	err = r.store.InTx(ctx, func(tx storage.Tx) error {
		except, err := r.ask(ctx, tx)
		if err != nil {
			return err
		}
		c := except.from(c)
		r.admitted(begun)
		now := r.now() // not earlier: it may have waited for the lock
		c.Now, c.LeaseUntil, c.Expired = now, driver.Time(now.Add(r.o.Lease)), r.expired()
		rows, err = r.spec.Table.Claim(ctx, tx, c)
		return err
	})
	claimed()
	r.wrote(begun, err)
	switch {
	case errors.Is(err, storage.ErrOutcomeUnknown):
		return r.won(ctx, rows)
	case err != nil:
		return nil, err // the next claim gets them
	}
	return rows, nil
}

// won tells which of the rows a claim with an unknown outcome got. If it cannot say, the
// leases run out.
func (r *runner[R, A]) won(ctx context.Context, rows []*R) (won []*R, err error) {
	var stored map[int64]*R
	err = r.store.InTx(ctx, func(tx storage.Tx) error {
		stored, err = load(ctx, tx, r.spec.Table, rows)
		return err
	})
	for _, row := range rows {
		if s := stored[r.rec(row).ID]; s != nil && r.rec(s).ClaimToken == r.rec(row).ClaimToken {
			won = append(won, row)
		}
	}
	return won, err
}

func token(random io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", err
	}
	return hex.EncodeToString(b[:]), nil
}
