package postgres

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/faultnet"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/storage/driver"
)

// between fails the test unless the store's clock and the server's agree within
// what the store's says of itself.
func between(t *testing.T, s *Store, db *sql.DB) {
	t.Helper()
	off := s.Clock().(interface{ Uncertainty() time.Duration }).Uncertainty()
	before := scan[time.Time](t, db, "SELECT clock_timestamp()")
	now := s.Clock().Now()
	after := scan[time.Time](t, db, "SELECT clock_timestamp()")
	if now.Before(before.Add(-off)) || now.After(after.Add(off)) {
		t.Errorf("the clock shows %v, the server's went from %v to %v", now, before, after)
	}
	if off <= 0 || off > 5*time.Second {
		t.Errorf("uncertainty %v", off)
	}
}

func TestStoreFollowsTheServersClock(t *testing.T) {
	t.Parallel()
	dsn := emptyDSN(t)
	s := opened(t, dsn, nil)
	between(t, s, s.DB())
	host := rawPool(t, dsn)
	on, err := New(t.Context(), host, nil)
	if err != nil {
		t.Fatal(err)
	}
	between(t, on, host)
	if err := on.Close(); err != nil {
		t.Error(err)
	}
	between(t, on, host) // the host's pool and the clock go on
}

// reread waits until a store has read the server's clock again, which it
// also does each minute.
func reread(t *testing.T, read <-chan struct{}) {
	t.Helper()
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	select {
	case <-read:
	case <-soon.Done():
		t.Error("nobody read the clock")
	}
}

// readings is closed when a store has read the server's clock.
func readings(p *faultnet.Proxy) <-chan struct{} { return p.DropReplyOnce(request("clock_timestamp")) }

func TestClockIsReadAgainAfterAnErrorOfTheConnection(t *testing.T) {
	t.Parallel()
	dsn, proxy := viaProxy(t, emptyDSN(t))
	opened(t, dsn, nil)
	s, err := New(t.Context(), rawPool(t, dsn), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	again := readings(proxy)
	err = s.InTx(t.Context(), func(tx driver.Tx) error {
		proxy.CutAll()
		_, err := tasks.Find(t.Context(), tx, "", driver.Query{Limit: 1})
		return err
	})
	wantErr(t, err, driver.ErrUnavailable)
	reread(t, again)
}

// database/sql replaces a connection that broke while it was idle, and tells
// nobody.
func TestClockIsReadAgainAfterAQuietReconnect(t *testing.T) {
	t.Parallel()
	dsn, proxy := viaProxy(t, emptyDSN(t))
	s := opened(t, dsn, nil)
	var err error
	for range 10 {
		proxy.CutAll()
		again := readings(proxy)
		if _, err = s.DB().ExecContext(t.Context(), "SELECT 1"); err == nil {
			reread(t, again)
			return
		}
		// On a busy machine the cut comes after the statement, and is no quiet one.
	}
	t.Error("each reconnect was told:", err)
}

func TestHostsClockIsTheStores(t *testing.T) {
	t.Parallel()
	mock := clock.NewMock()
	s := opened(t, emptyDSN(t), &Options{Clock: mock})
	if s.Clock() != clock.Clock(mock) {
		t.Error("the store has another clock")
	}
}

func TestOpenClosesWhatItOpenedWhenItFails(t *testing.T) {
	t.Parallel()
	dsn := emptyDSN(t)
	_, err := Open(t.Context(), pgtest.With(t, dsn, "application_name", "given-up"), &Options{Migrate: MigrateVerify})
	if err == nil || !strings.Contains(err.Error(), "0001_store.sql") {
		t.Errorf("verified an empty database: %v", err)
	}
	until(t, rawPool(t, dsn), "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'given-up'")
}

func TestUnsafeOptionsAreRefused(t *testing.T) {
	t.Parallel()
	dsn := emptyDSN(t)
	for name, opts := range map[string]*Options{
		"schema":  {Schema: `x"; DROP TABLE y`},
		"prefix":  {TablePrefix: "Mixed_"},
		"migrate": {Migrate: "perhaps"},
	} {
		if _, err := Open(t.Context(), dsn, opts); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestNewWithoutAPoolPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	_, _ = New(t.Context(), nil, nil)
}

func TestCloseLeavesTheHostsPoolAlone(t *testing.T) {
	t.Parallel()
	dsn := emptyDSN(t)
	own := opened(t, dsn, nil)
	host := rawPool(t, dsn)
	s, err := New(t.Context(), host, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // twice is allowed
		if err := errors.Join(s.Close(), own.Close()); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(1, scan[int](t, host, "SELECT 1")); diff != "" {
		t.Error(diff)
	}
	if err := own.DB().PingContext(t.Context()); err == nil {
		t.Error("the pool that Open made is open after Close")
	}
}

func TestExportedMigrationsPassVerify(t *testing.T) {
	t.Parallel()
	dsn := emptyDSN(t)
	var text strings.Builder
	if err := ExportMigrations(&text, "elsewhere", "x_"); err != nil {
		t.Fatal(err)
	}
	exec(t, rawPool(t, dsn), "CREATE SCHEMA elsewhere", text.String())
	s, err := New(t.Context(), rawPool(t, dsn), &Options{Schema: "elsewhere", TablePrefix: "x_"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
