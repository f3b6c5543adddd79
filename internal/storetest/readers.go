package storetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// BesideAWriter wants calls that only look to answer while another transaction has
// the lock of the one writer, on a database that has one. On memory it skips t, since
// transactions and views run one by one there.
func BesideAWriter(t *testing.T, store storage.Store, reads map[string]func(context.Context) error) {
	t.Helper()
	if _, ok := store.(*memory.Store); ok {
		t.Skip("memory runs transactions and views one by one")
	}
	begun, over, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- store.InTx(t.Context(), func(storage.Tx) error {
			close(begun)
			<-over
			return nil
		})
	}()
	select {
	case <-begun:
	case err := <-done:
		t.Fatal(err)
	}
	Answered(t, reads)
	close(over)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Answered calls all of them at once, and tells which ones wait.
func Answered(t *testing.T, reads map[string]func(context.Context) error) {
	t.Helper()
	const patience = 5 * time.Minute // enough for a call without waiting on the slowest machine
	var calls sync.WaitGroup
	for name, read := range reads {
		calls.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := read(ctx); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	calls.Wait()
}
