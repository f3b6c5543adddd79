package survey_test

import (
	"sync"
	"testing"

	"github.com/belfry-go/belfry/internal/storetest"
)

func TestAPollDoesNotWaitForTheSweepOfAnother(t *testing.T) {
	inMemory(t, nil, func(h *host) {
		h.linked(definition("0d", nil))
		begun, let := make(chan struct{}), make(chan struct{})
		h.store = &storetest.Spy{Store: h.store, Hook: func(c storetest.Call) error {
			if c.Verb == storetest.Begin && c.Number == 1 {
				close(begun)
				<-let
			}
			return nil
		}}
		s := h.service(nil)
		var both sync.WaitGroup
		poll := func() {
			if _, err := s.PollOnce(t.Context(), 10); err != nil {
				t.Error(err)
			}
		}
		both.Go(poll)
		<-begun
		poll() // ends
		if len(h.sent()) != 1 {
			t.Error("nothing was sent while another swept")
		}
		close(let)
		both.Wait()
	})
}
