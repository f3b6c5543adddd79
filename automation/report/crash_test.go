package report_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

var errCrash = errors.New("the process is gone")

// crashing is the store of a process that ends at a transaction, before or behind
// its commit.
type crashing struct {
	storage.Store
	left   int // transactions until then
	behind bool
}

func (c *crashing) InTx(ctx context.Context, f func(storage.Tx) error) error {
	c.left--
	if c.left < 0 || c.left == 0 && !c.behind {
		return errCrash
	}
	err := c.Store.InTx(ctx, func(tx storage.Tx) error { return f(crashingTx{tx, c}) })
	if c.left == 0 {
		return errCrash
	}
	return err
}

func (c *crashing) Next(ctx context.Context, s *driver.Schema, q driver.Claim, until time.Time) (time.Time, error) {
	if c.left <= 0 {
		return time.Time{}, errCrash
	}
	return c.Store.Next(ctx, s, q, until)
}

func (c *crashing) Blobs() storage.Blobs { return crashingBlobs{c.Store.Blobs()} }

// crashingTx belongs to the crashing store.
type crashingTx struct {
	storage.Tx
	c *crashing
}

func (t crashingTx) Store() storage.Store { return t.c }

// crashingBlobs know their own transactions.
type crashingBlobs struct{ storage.Blobs }

func (b crashingBlobs) Keep(ctx context.Context, tx storage.Tx, refs ...storage.Ref) error {
	return b.Blobs.Keep(ctx, own(tx), refs...)
}

func (b crashingBlobs) KeepUntil(ctx context.Context, tx storage.Tx, until time.Time, refs ...storage.Ref) error {
	return b.Blobs.KeepUntil(ctx, own(tx), until, refs...)
}

func own(tx storage.Tx) storage.Tx {
	if t, ok := tx.(crashingTx); ok {
		return t.Tx
	}
	return tx
}

// I-10: wherever the process ends that runs a report, another one finishes it: one
// run, one message, or one that is in doubt and held.
func TestI10_AReportSurvivesEveryCrash(t *testing.T) {
	t.Parallel()
	for _, bulk := range []bool{false, true} {
		for _, behind := range []bool{false, true} {
			t.Run(fmt.Sprintf("bulk %v behind %v", bulk, behind), func(t *testing.T) {
				t.Parallel()
				for n := 1; ; n++ {
					if crashAt(t, n, behind, bulk) {
						t.Logf("%d points", n-1)
						return
					}
				}
			})
		}
	}
}

// crashAt reports whether the process got through before the crash.
func crashAt(t *testing.T, n int, behind, bulk bool) (through bool) {
	clk := clock.NewMock()
	clk.Set(storetest.Start)
	inner := memory.New(&memory.Options{Clock: clk})
	other := newWorld(t, inner, clk, nil)
	other.create(weekly(func(s *report.Subscription) { s.Delivery.Bulk = bulk }))
	store := &crashing{Store: inner, left: n, behind: behind}
	w := newWorld(t, store, clk, nil)
	clk.Set(at(3, 2, 9, 0))
	err := w.newPoller(50 * time.Millisecond).Drain(w.ctx)
	for range 12 {
		other.pollAt(clk.Now().Add(20 * time.Minute))
	}
	if runs := other.runs("g-1"); len(runs) != 2 || runs[1][:len("scheduled:2026-03-02T09:00:00Z Completed")] != "scheduled:2026-03-02T09:00:00Z Completed" {
		t.Fatalf("crash %d: %v", n, runs)
	}
	messages, _, found := other.reports.Messages(other.ctx, "", monday, storage.Page{})
	if found != nil || len(messages) != 1 {
		t.Fatalf("crash %d: %+v %v", n, messages, found)
	}
	sent := len(w.sent) + len(other.sent)
	if doubt := messages[0].Status == notify.StatusOutcomeUnknown; sent != 1 && !doubt || sent > 1 {
		t.Fatalf("crash %d: sent %d, %+v", n, sent, messages[0])
	}
	return err == nil && store.left > 0
}
