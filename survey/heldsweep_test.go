package survey_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/belfry-go/belfry/storage"
)

// heldStore keeps its first transaction waiting.
type heldStore struct {
	storage.Store
	held       atomic.Bool
	begun, let chan struct{}
}

func (s *heldStore) InTx(ctx context.Context, f func(storage.Tx) error) error {
	if s.held.CompareAndSwap(false, true) {
		close(s.begun)
		<-s.let
	}
	return s.Store.InTx(ctx, f)
}

func TestAPollDoesNotWaitForTheSweepOfAnother(t *testing.T) {
	inMemory(t, nil, func(h *host) {
		h.linked(definition("0d", nil))
		held := &heldStore{Store: h.store, begun: make(chan struct{}), let: make(chan struct{})}
		h.store = held
		s := h.service(nil)
		var both sync.WaitGroup
		poll := func() {
			if _, err := s.PollOnce(t.Context(), 10); err != nil {
				t.Error(err)
			}
		}
		both.Go(poll)
		<-held.begun
		poll() // ends
		if len(h.sent()) != 1 {
			t.Error("nothing was sent while another swept")
		}
		close(held.let)
		both.Wait()
	})
}
