package postgres

import (
	"context"
	"fmt"
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
	var due time.Time
	for n := 0; due.IsZero(); n++ {
		row := dueTasks(1)[0]
		row.Key = fmt.Sprint("task-", n)
		insert(t, one, row)
		exec(t, one.DB(), "SELECT pg_sleep(0.01)") // the server tells, and the other listens
		due = signal.Take()
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
	holds := proxy.Blackhole()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-holds // the driver has dialled and waits for an answer
		cancel()
	}()
	listener(pgtest.With(t, dsn, "connect_timeout", "3600"))(ctx, func(string) {})
}
