package pgx

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
	"github.com/belfry-go/belfry/storage/internal/traptest"
)

// counted is a network connection that counts what is sent at once.
type counted struct {
	net.Conn
	sent *atomic.Int64
}

func (c counted) Write(b []byte) (int, error) {
	c.sent.Add(1)
	return c.Conn.Write(b)
}

func TestATransactionBeginsWithItsFirstStatement(t *testing.T) {
	t.Parallel()
	cfg, err := pgxpool.ParseConfig(emptyDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	var sent atomic.Int64
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return counted{c, &sent}, err
	}
	// Else what has rested for a second is asked whether it lives.
	cfg.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	host, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	s, err := New(t.Context(), host, &Options{Migrate: MigrateAuto, Clock: traptest.RealTime})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := sqlstore.CreateTable(t.Context(), s.Store, &traptest.Tasks.Schema); err != nil {
		t.Fatal(err)
	}
	trips := func(f func() error) int64 {
		t.Helper()
		if err := f(); err != nil { // it is prepared now
			t.Fatal(err)
		}
		before := sent.Load()
		if err := f(); err != nil {
			t.Fatal(err)
		}
		return sent.Load() - before
	}
	errMind := errors.New("changed my mind")
	for name, c := range map[string]struct {
		trips int64
		do    func() error
	}{
		"one statement": {2, func() error { return traptest.Insert(t.Context(), s, traptest.DueTasks(1)...) }},
		"no statement":  {0, func() error { return s.InTx(t.Context(), func(driver.Tx) error { return nil }) }},
		"rolled back": {0, func() error {
			if err := s.InTx(t.Context(), func(driver.Tx) error { return errMind }); !errors.Is(err, errMind) {
				return err
			}
			return nil
		}},
		"a view": {2, func() error {
			return s.View(t.Context(), func(r driver.Reader) error {
				_, err := traptest.Tasks.Find(t.Context(), r, "", driver.Query{Limit: 1})
				return err
			})
		}},
	} {
		if got := trips(c.do); got != c.trips {
			t.Errorf("%s: %d round trips, want %d", name, got, c.trips)
		}
	}
}

// The settings of a transaction hold from its first statement on.
func TestTheFirstStatementIsInTheTransaction(t *testing.T) {
	t.Parallel()
	s := opened(t, emptyDSN(t), nil)
	for range 2 { // not prepared, and prepared
		c, err := s.pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !c.(*conn).Defer(sqlstore.PostgreSQL.Begin) {
			t.Fatal("nothing is deferred on a direct connection")
		}
		var timeout string
		err = c.Query(t.Context(), "SELECT current_setting($1)", []any{"lock_timeout"}, func(r sqlstore.Rows) error {
			for r.Next() {
				if err := r.Scan(&timeout); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || timeout != "500ms" {
			t.Errorf("lock_timeout %q: %v", timeout, err)
		}
		if _, err := c.Exec(t.Context(), "ROLLBACK"); err != nil {
			t.Error(err)
		}
		_ = c.Release(false)
	}
}
