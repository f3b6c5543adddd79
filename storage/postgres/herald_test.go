package postgres

import (
	"context"
	"testing"

	"github.com/belfry-go/belfry/internal/pgtest"
)

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
