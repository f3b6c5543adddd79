package backlog_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/backlog"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

type task struct {
	driver.Due
	Held   bool      `db:"is_on_support_hold"`
	Reason string    `db:"hold_reason,plain"`
	Made   time.Time `db:"created_on"`
}

var tasks = driver.Define[task]("task")

var start = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// open is a store with rows that are due at its moment.
func open(t *testing.T, rows ...task) storage.Store {
	t.Helper()
	clk := clock.NewMock()
	clk.Set(start)
	store := memory.New(&memory.Options{Clock: clk})
	err := store.InTx(t.Context(), func(tx storage.Tx) error {
		for i := range rows {
			rows[i].Key = fmt.Sprint(i)
			if _, err := tasks.Insert(t.Context(), tx, &rows[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func due(scope storage.Scope, lane int16) task {
	return task{Due: driver.Due{Record: storage.Record{Scope: scope}, Lane: lane, DueOn: start}}
}

func take(t *testing.T, store storage.Store, reach storage.ScopeFilter) health.Summary {
	t.Helper()
	got, err := backlog.Take(t.Context(), store.View, reach, backlog.Of(backlog.Table{Schema: &tasks.Schema, Reasons: []string{"Refused"}}))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// The due rows of one tenant may be behind ten thousand of another's: then it is said
// that there may be more, and no more is read. What is on hold is counted for it alone.
func TestATenantBehindTheLimitIsNotTakenForHealthy(t *testing.T) {
	t.Parallel()
	var rows []task
	for range backlog.Limit {
		r := due("loud", 0)
		r.Held, r.Reason = true, "Refused"
		rows = append(rows, r)
	}
	late := due("quiet", 0)
	late.DueOn, late.Held, late.Reason = start.Add(time.Minute), true, "Refused"
	store := open(t, append(rows, late)...)
	store.Clock().(*clock.Mock).Add(time.Hour)
	got := take(t, store, storage.Within("quiet"))
	if len(got.Due) != 0 || !got.DueCapped {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff([]health.Count{{Table: "task", Reason: "Refused", Rows: 1}}, got.Holds, cmpopts.IgnoreFields(health.Count{}, "OldestOn")); diff != "" {
		t.Error(diff)
	}
}

// What one tenant has on hold is counted up to a thousand, and said to be more.
func TestTheHoldsOfOneTenantAreCapped(t *testing.T) {
	t.Parallel()
	var rows []task
	for range backlog.ScopeLimit + 1 {
		r := due("loud", 0)
		r.Held, r.Reason = true, "Refused"
		rows = append(rows, r)
	}
	store := open(t, rows...)
	for _, c := range []struct {
		reach storage.ScopeFilter
		want  health.Count
	}{
		{storage.Within("loud"), health.Count{Table: "task", Reason: "Refused", Rows: backlog.ScopeLimit, Capped: true}},
		{storage.Everywhere(), health.Count{Table: "task", Reason: "Refused", Rows: backlog.ScopeLimit + 1}},
	} {
		got := take(t, store, c.reach).Holds
		if diff := cmp.Diff([]health.Count{c.want}, got, cmpopts.IgnoreFields(health.Count{}, "OldestOn")); diff != "" {
			t.Error(diff)
		}
	}
}

// Each hold is dated by the first of its own rows.
func TestEachHoldHasItsOwnDate(t *testing.T) {
	t.Parallel()
	held := func(reason string, made time.Time) task {
		r := due("", 0)
		r.Held, r.Reason, r.Made = true, reason, made
		return r
	}
	store := open(t, held("Stopped", start), held("Refused", start.Add(time.Hour)), held("Refused", start.Add(2*time.Hour)))
	got, err := backlog.Take(t.Context(), store.View, storage.Everywhere(), backlog.Of(backlog.Table{Schema: &tasks.Schema, Reasons: []string{"Refused", "Stopped"}}))
	want := []health.Count{
		{Table: "task", Reason: "Refused", Rows: 2, OldestOn: start.Add(time.Hour)},
		{Table: "task", Reason: "Stopped", Rows: 1, OldestOn: start},
	}
	if diff := cmp.Diff(want, got.Holds); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestLanesAreBounded(t *testing.T) {
	t.Parallel()
	var rows []task
	for lane := range int16(backlog.Lanes) {
		rows = append(rows, due("", lane-3))
	}
	if got := take(t, open(t, rows...), storage.Everywhere()); len(got.Due) != backlog.Lanes || got.DueCapped {
		t.Errorf("%+v", got)
	}
	if got := take(t, open(t, append(rows, due("", 100))...), storage.Everywhere()); len(got.Due) != backlog.Lanes || !got.DueCapped {
		t.Errorf("%+v", got)
	}
}

// A view may run twice.
func TestACountThatRunsTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	store := open(t, due("", 0), due("", 0))
	twice := func(ctx context.Context, f func(driver.Reader) error) error {
		return errors.Join(store.View(ctx, f), store.View(ctx, f))
	}
	got, err := backlog.Take(t.Context(), twice, storage.Everywhere(), backlog.Of(backlog.Table{Schema: &tasks.Schema}))
	if err != nil || len(got.Due) != 1 || got.Due[0].Rows != 2 {
		t.Errorf("%+v %v", got, err)
	}
}
