package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// task is the smallest table.
type task struct {
	driver.Due
	Note string `db:"note"`
}

var (
	tasks = driver.Define[task]("task")
	noon  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// onFile is a store on a new file, with the table of tasks.
func onFile(t testing.TB, opts *Options) (*Store, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "belfry.db")
	s := opened(t, path, opts)
	if err := sqlstore.CreateTable(t.Context(), s.Store, &tasks.Schema); err != nil {
		t.Fatal(err)
	}
	return s, path
}

// dueTasks are n free tasks that are due at noon.
func dueTasks(n int) []*task {
	out := make([]*task, n)
	for i := range out {
		out[i] = &task{Due: driver.Due{Record: driver.Record{Key: fmt.Sprintf("task-%05d", i), Status: "Ready"}, DueOn: noon}}
	}
	return out
}

func claimOf(token string, n int) driver.Claim {
	return driver.Claim{
		Statuses: []string{"Ready"}, Busy: "Busy", Lanes: []driver.LaneClaim{{Limit: n}},
		Now: noon, LeaseUntil: noon.Add(time.Minute), Token: token,
	}
}

func inTx(t testing.TB, s *Store, f func(tx driver.Tx) error) {
	t.Helper()
	if err := s.InTx(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

func insert(t testing.TB, s *Store, rows ...*task) {
	t.Helper()
	inTx(t, s, func(tx driver.Tx) error {
		_, err := tasks.Insert(t.Context(), tx, rows...)
		return err
	})
}

// raw is the driver as it comes, without our settings.
func raw(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db := sqlOpen(dsn, false)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func execSQL(t testing.TB, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := db.ExecContext(context.WithoutCancel(t.Context()), text); err != nil {
			t.Fatal(text, err)
		}
	}
}

func scan[V any](t testing.TB, db interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, query string) (v V) {
	t.Helper()
	if err := db.QueryRowContext(context.WithoutCancel(t.Context()), query).Scan(&v); err != nil {
		t.Fatal(query, err)
	}
	return v
}
