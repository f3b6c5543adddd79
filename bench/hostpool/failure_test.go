package hostpool

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/faultnet"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/postgres"
	"github.com/belfry-go/belfry/storage/storagetest"
)

// task is the smallest table.
type task struct{ storage.Record }

var tasks = driver.Define[task]("task")

// viaProxy is a store with the table of tasks, whose network can be disturbed.
func viaProxy(t *testing.T) (*postgres.Store, *faultnet.Proxy) {
	t.Helper()
	dsn := pgtest.DSN(t)
	proxy := faultnet.Start(t, pgtest.Addr(t, dsn))
	s := way{}.store(t, pgtest.Via(t, dsn, proxy.Addr()), storagetest.Options{Clock: clock.NewMock()})
	if err := createTable(t.Context(), s, postgres.Options{}, &tasks.Schema); err != nil {
		t.Fatal(err)
	}
	return s, proxy
}

func insert(t *testing.T, s *postgres.Store, key string, meanwhile func()) error {
	t.Helper()
	return s.InTx(t.Context(), func(tx storage.Tx) error {
		meanwhile()
		_, err := tasks.Insert(t.Context(), tx, &task{storage.Record{Key: key}})
		return err
	})
}

func is(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

func TestErrorsOfPgxMeanWhatTheContractSays(t *testing.T) {
	t.Parallel()
	s, proxy := viaProxy(t)
	lose := func(text string) func() {
		return func() { proxy.DropReplyOnce(func(sent []byte) bool { return bytes.Contains(sent, []byte(text)) }) }
	}
	is(t, "a lost reply to COMMIT", insert(t, s, "a", lose("COMMIT")), storage.ErrOutcomeUnknown)
	is(t, "a lost reply to a statement", insert(t, s, "b", lose("INSERT INTO")), storage.ErrUnavailable)
	is(t, "a connection that is cut", insert(t, s, "c", proxy.CutAll), storage.ErrUnavailable)
	proxy.CutAll() // what lies idle is replaced
	is(t, "an idle connection that was cut", insert(t, s, "d", func() {}), nil)
	if keys := written(t, s); keys != "a d" {
		t.Errorf("rows %q were written", keys)
	}
}

func TestPgxEndsCallsInABlackHoleWithTheirContext(t *testing.T) {
	testlevel.Need(t, testlevel.Nightly) // it measures how long a call takes
	t.Parallel()
	s, proxy := viaProxy(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := s.InTx(ctx, func(tx storage.Tx) error {
		holds := proxy.Blackhole()
		go func() {
			<-holds // the call is under way
			cancel()
		}()
		_, err := tasks.Insert(ctx, tx, &task{storage.Record{Key: "a"}})
		return err
	})
	is(t, "a call", err, context.Canceled)
	proxy.Resume()
}

func TestASerializationFailureIsTheHostsToRepeat(t *testing.T) {
	t.Parallel()
	s, _ := viaProxy(t)
	tx, err := s.DB().BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := tx.QueryRowContext(t.Context(), "SELECT FROM task").Scan(); !errors.Is(err, sql.ErrNoRows) {
		t.Fatal(err)
	}
	is(t, "another transaction", insert(t, s, "a", func() {}), nil)
	_, err = tasks.Insert(t.Context(), s.Join(tx), &task{storage.Record{Key: "a"}})
	is(t, "a key that was committed behind the snapshot", err, storage.ErrRetryTx)
}

// written are the keys of the tasks.
func written(t *testing.T, s *postgres.Store) (keys string) {
	t.Helper()
	err := s.DB().QueryRowContext(t.Context(), "SELECT string_agg(key, ' ' ORDER BY key) FROM task").Scan(&keys)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}
