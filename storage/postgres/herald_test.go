package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/pgtest"
)

const listening = "SELECT count(*) = $1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"

func TestNotifyWakesPollersOfOtherProcesses(t *testing.T) {
	t.Parallel()
	dsn := emptyDSN(t)
	opts := &Options{Notify: true}
	one, two := opened(t, dsn, opts), reopened(t, dsn, opts)
	elsewhere := reopened(t, dsn, &Options{Notify: true, TablePrefix: "other_"})
	until(t, one.DB(), listening, 3)
	signal, other := two.Waker().Listen("task"), elsewhere.Waker().Listen("task")
	defer signal.Close()
	defer other.Close()

	for _, statement := range []string{"NOTIFY belfry", "NOTIFY belfry, '[1]'"} { // somebody else's are passed over
		exec(t, one.DB(), statement)
	}
	// The driver drops what comes while it subscribes, so one hint may be lost.
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var due time.Time
	for _, row := range dueTasks(1000) {
		insert(t, one, row)
		exec(t, one.DB(), "SELECT pg_sleep(0.01)")
		if due = signal.Take(); !due.IsZero() || ctx.Err() != nil {
			break
		}
	}
	if diff := cmp.Diff(noon, due); diff != "" {
		t.Error(diff)
	}
	if due := other.Take(); !due.IsZero() {
		t.Error("a store on other tables was woken")
	}
}

func TestNotifyIsNotSentForAHostsTransaction(t *testing.T) {
	t.Parallel()
	dsn := emptyDSN(t)
	s := opened(t, dsn, &Options{Notify: true})
	tx, err := s.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tasks.Insert(t.Context(), s.Join(tx), dueTasks(1)...); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if hints := s.follows.News().Take(); len(hints) != 0 {
		t.Errorf("hints %v", hints)
	}
}

func TestNotifyNeedsOpen(t *testing.T) {
	t.Parallel()
	if _, err := New(t.Context(), rawPool(t, emptyDSN(t)), &Options{Notify: true}); err == nil {
		t.Error("New took an option that it cannot serve")
	}
}

// A listener whose network is silent ends with its context all the same, though
// the driver's waits for its handshake.
func TestListenerEndsInABlackHole(t *testing.T) {
	t.Parallel()
	dsn, proxy := viaProxy(t, emptyDSN(t))
	proxy.Blackhole()
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	start := realTime.Now()
	listener(pgtest.With(t, dsn, "connect_timeout", "10"))(ctx, func(string) {})
	if took := realTime.Since(start); took > patience {
		t.Errorf("took %v", took)
	}
}
