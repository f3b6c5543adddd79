package automation_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// overtaken is a store on which by, if it is not nil, writes schedules just
// before a transaction saves some. It is given that transaction.
type overtaken struct {
	storage.Store
	by func(storage.Tx)
}

func (s *overtaken) InTx(ctx context.Context, f func(storage.Tx) error) error {
	return s.Store.InTx(ctx, func(tx storage.Tx) error { return f(overtakenTx{tx, s}) })
}

type overtakenTx struct {
	storage.Tx
	s *overtaken
}

func (t overtakenTx) Store() storage.Store { return t.s }

func (t overtakenTx) Update(ctx context.Context, schema *driver.Schema, rows []driver.Row) ([]bool, error) {
	if t.s.by != nil && schema == &automation.Schedules.Schema {
		t.s.by(t.Tx)
	}
	return t.Tx.Update(ctx, schema, rows)
}

// Between the moment at which an event reads its rows and the one at which it
// ends them, a worker claims one of the two. Memory and SQLite let one
// transaction write at a time, so the claim is made in the event's own; on
// PostgreSQL it is also made, and committed, by a transaction beside it.
func TestI18_AnEventEndsARowThatAWorkerClaimsMeanwhile(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		endsAClaimedRow(t, store, clk, (*world).claimIn)
	})
	t.Run("postgres, beside it", func(t *testing.T) {
		t.Parallel()
		clk := clock.NewMock()
		clk.Set(start)
		endsAClaimedRow(t, storetest.Postgres(t, clk), clk, func(w *world, _ storage.Tx, lease time.Duration) []*automation.Schedule {
			return w.claim(lease)
		})
	})
}

func endsAClaimedRow(t *testing.T, store storage.Store, clk *clock.Mock, claim func(*world, storage.Tx, time.Duration) []*automation.Schedule) {
	t.Helper()
	s := &overtaken{Store: store}
	w := newWorld(t, s, clk, nil)
	p := w.withTriggers(nil)
	p.set(offsets(date(2026, 5, 1), 30, 7)...)
	w.handle(changed(1))
	clk.Set(day(2026, 4, 1, 9))
	var claimed []*automation.Schedule
	s.by = func(tx storage.Tx) {
		s.by = nil // once
		claimed = claim(w, tx, time.Minute)
	}
	p.set()
	got := w.handle(changed(2)).Deactivated
	if len(claimed) != 1 || claimed[0].Key != key("2026-05-01", "30") {
		t.Fatalf("the worker claimed %+v", claimed)
	}
	slices.SortFunc(got, func(a, b automation.Deactivation) int { return strings.Compare(a.Key, b.Key) })
	want := []automation.Deactivation{{key("2026-05-01", "30"), automation.Superseded}, {key("2026-05-01", "7"), automation.Superseded}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, d := range want {
		if row := w.row(d.Key); row.Status != automation.StatusDeactivated || row.ReasonCode != automation.Superseded || row.EventID != "e2" || !row.DueOn.IsZero() {
			t.Errorf("%+v", row)
		}
	}
	err := store.InTx(w.ctx, func(tx storage.Tx) error { return automation.Schedules.Save(w.ctx, tx, claimed...) })
	if !errors.Is(err, storage.ErrStale) {
		t.Errorf("the worker could still write: %v", err)
	}
}

// Whoever keeps writing the rows must not keep the event for ever.
func TestAnEventGivesUpOnRowsThatKeepChanging(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		s := &overtaken{Store: store}
		w := newWorld(t, s, clk, nil)
		p := w.withTriggers(nil)
		p.set(offsets(date(2026, 5, 1), 30)...)
		w.handle(changed(1))
		before := w.rows()
		times := 0
		s.by = func(tx storage.Tx) {
			times++
			row, err := automation.Schedules.Get(w.ctx, tx, "", certificateKey)
			if err == nil {
				err = automation.Schedules.Save(w.ctx, tx, row)
			}
			if err != nil {
				t.Error(err)
			}
		}
		p.set()
		if _, err := w.s.HandleEvent(w.ctx, changed(2)); !errors.Is(err, storage.ErrBusy) || times != 5 {
			t.Errorf("%v after %d times", err, times)
		}
		if diff := cmp.Diff(before, w.rows()); diff != "" {
			t.Error("half-written:", diff)
		}
	})
}
