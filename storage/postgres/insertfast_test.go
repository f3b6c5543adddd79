package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// inserts are what a store said to the server while f ran: "asks" or "expects".
func (r *recorder) inserts(t *testing.T, f func()) []string {
	t.Helper()
	var kinds []string
	for _, s := range r.during(t, "INSERT", f) {
		kind := "expects"
		if strings.Contains(s.text, "ON CONFLICT") {
			kind = "asks"
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

// After some large INSERTs that met no taken key the next one asks about none. If
// one is taken after all, the transaction runs again and asks.
func TestALargeInsertExpectsWhatTheLastOnesMet(t *testing.T) {
	t.Parallel()
	w := newInsertFast(t)
	w.is("asks asks asks asks expects expects", w.call(0), w.call(1), w.call(2), w.call(3), w.call(4), w.call(5))
	runs := 0
	taken := w.recorder.inserts(t, func() {
		w.inTx(func(tx driver.Tx) error {
			runs++
			added, err := tasks.Insert(t.Context(), tx, numbered(5, 69, 140)...)
			if err == nil && (slices.Index(added, false) != 0 || slices.Contains(added[1:], false)) {
				t.Errorf("answers: %v", added)
			}
			return err
		})
	})
	if runs != 2 {
		t.Errorf("the transaction ran %d times", runs)
	}
	w.is("expects asks asks", taken, w.call(7))
}

// Whatever others meet meanwhile; they have another connection, where a host's code
// would wait for itself.
func TestARunAfterATakenKeyAsks(t *testing.T) {
	t.Parallel()
	w := newInsertFast(t)
	for call := range 5 {
		w.call(call)
	}
	runs := 0
	kinds := w.recorder.inserts(t, func() {
		w.inTx(func(tx driver.Tx) error {
			if runs++; runs == 3 {
				t.Fatal("it expects again")
			}
			_, err := tasks.Insert(t.Context(), tx, numbered(4, 0, 70)...)
			for call := 5; err != nil && call < 5+64; call++ {
				w.inTx(func(tx driver.Tx) error {
					_, err := tasks.Insert(t.Context(), tx, numbered(call, 0, 70)...)
					return err
				})
			}
			return err
		})
	})
	if last := kinds[len(kinds)-1]; kinds[0] != "expects" || last != "asks" {
		t.Errorf("the first run %s, the second %s", kinds[0], last)
	}
}

// A statement that fails would end a host's transaction.
func TestAHostsTransactionAsksAboutEachKey(t *testing.T) {
	t.Parallel()
	w := newInsertFast(t)
	var last []string
	for call := range 6 {
		last = w.call(call)
	}
	host, err := w.store.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	joined := w.recorder.inserts(t, func() {
		_, err = tasks.Insert(t.Context(), w.store.Join(host), numbered(5, 0, 70)...)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Commit(); err != nil {
		t.Fatal(err)
	}
	w.is("expects asks", last, joined)
}

type insertFast struct {
	t        *testing.T
	store    *Store
	recorder *recorder
}

func newInsertFast(t *testing.T) *insertFast {
	s, r := recorded(t, emptyDSN(t), 2, &Options{Migrate: MigrateAuto})
	if err := sqlstore.CreateTable(t.Context(), s.Store, &tasks.Schema); err != nil {
		t.Fatal(err)
	}
	return &insertFast{t, s, r}
}

// numbered are rows from to to of a call.
func numbered(call, from, to int) []*task {
	var rows []*task
	for i := from; i < to; i++ {
		rows = append(rows, &task{Due: driver.Due{Record: driver.Record{Key: fmt.Sprintf("%d %03d", call, i), Status: ready}}})
	}
	return rows
}

func (w *insertFast) inTx(f func(driver.Tx) error) {
	w.t.Helper()
	if err := w.store.InTx(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
}

// call inserts seventy new rows.
func (w *insertFast) call(call int) []string {
	w.t.Helper()
	return w.recorder.inserts(w.t, func() {
		w.inTx(func(tx driver.Tx) error {
			_, err := tasks.Insert(context.Background(), tx, numbered(call, 0, 70)...)
			return err
		})
	})
}

func (w *insertFast) is(want string, got ...[]string) {
	w.t.Helper()
	if all := strings.Join(slices.Concat(got...), " "); all != want {
		w.t.Errorf("it %s; want: %s", all, want)
	}
}
