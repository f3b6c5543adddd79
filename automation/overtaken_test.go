package automation_test

import (
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
)

// overtaken has by write schedules just before a transaction saves some. It is
// given that transaction.
func overtaken(by func(storage.Tx)) func(storetest.Call) error {
	return func(c storetest.Call) error {
		if c.Verb == storetest.Update && c.Table == automation.Schedules.Name {
			by(c.Tx)
		}
		return nil
	}
}

// Between the moment at which an event reads its rows and the one at which it
// ends them, a worker claims one of the two. Memory and SQLite let one
// transaction write at a time, so the claim is made in the event's own; on
// PostgreSQL it is also made, and committed, by a transaction beside it.
//
//spec:a-030
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
	s := &storetest.Spy{Store: store}
	w := newWorld(t, s, clk, nil)
	p := w.withTriggers(nil)
	p.set(offsets(date(2026, 5, 1), 30, 7)...)
	w.handle(changed(1))
	clk.Set(day(2026, 4, 1, 9))
	var claimed []*automation.Schedule
	s.SetHook(overtaken(func(tx storage.Tx) {
		s.SetHook(nil) // once
		claimed = claim(w, tx, time.Minute)
	}))
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
		s := &storetest.Spy{Store: store}
		w := newWorld(t, s, clk, nil)
		p := w.withTriggers(nil)
		p.set(offsets(date(2026, 5, 1), 30)...)
		w.handle(changed(1))
		before := w.rows()
		times := 0
		s.SetHook(overtaken(func(tx storage.Tx) {
			times++
			row, err := automation.Schedules.Get(w.ctx, tx, "", certificateKey)
			if err == nil {
				err = automation.Schedules.Save(w.ctx, tx, row)
			}
			if err != nil {
				t.Error(err)
			}
		}))
		p.set()
		if _, err := w.s.HandleEvent(w.ctx, changed(2)); !errors.Is(err, storage.ErrBusy) || times != 5 {
			t.Errorf("%v after %d times", err, times)
		}
		if diff := cmp.Diff(before, w.rows()); diff != "" {
			t.Error("half-written:", diff)
		}
	})
}
