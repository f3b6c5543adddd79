package postgres

import (
	"errors"
	"strings"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/pgtest"
)

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
	until(t, rawPool(t, dsn), "SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'given-up'")
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
