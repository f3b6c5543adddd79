package survey_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// Any number of ticks may run at once, in one process and in several: each send is
// made once.
//
//spec:t-072
func TestTicksAtOnceSendEachLinkOnce(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		const links = 100
		h.publish(definition("0d", nil))
		var visits []string
		for n := range links {
			visits = append(visits, fmt.Sprintf(`{"wip":"%d"}`, n))
		}
		h.ingest(visits...)
		services := []*survey.Service{h.survey, h.survey, h.service(nil), h.service(nil)}
		processed := make([]int, len(services))
		var wg sync.WaitGroup
		for n, s := range services {
			wg.Go(func() {
				for {
					r, err := s.PollOnce(h.t.Context(), 10)
					if err != nil {
						h.t.Error(err)
					}
					if processed[n] += r.Processed; r.Processed == 0 || err != nil {
						return
					}
				}
			})
		}
		wg.Wait()
		calls := map[string]int{}
		for _, m := range h.sent() {
			calls[m.ID]++
		}
		sum := 0
		for _, n := range processed {
			sum += n
		}
		if len(calls) != links || len(h.sent()) != links || sum != links {
			h.t.Errorf("%d calls for %d links, %d processed", len(h.sent()), len(calls), sum)
		}
	})
}

// A tick takes at most its batch, and reports it.
//
//spec:t-033
func TestATickTakesAtMostItsBatch(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(definition("0d", nil))
		h.ingest(`{"wip":"1"}`, `{"wip":"2"}`, `{"wip":"3"}`)
		var got []int
		for range 3 {
			r, err := h.survey.PollOnce(h.t.Context(), 2)
			if err != nil {
				h.t.Fatal(err)
			}
			got = append(got, r.Processed)
		}
		if diff := cmp.Diff([]int{2, 1, 0}, got); diff != "" {
			h.t.Error(diff)
		}
	})
}

// A claim has to commit before its work starts, so a tick in a host's transaction is
// refused.
func TestATickInABoundTransactionIsRefused(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		err := h.store.InTx(h.t.Context(), func(tx storage.Tx) error {
			_, err := h.survey.WithTx(tx).PollOnce(h.t.Context(), 10)
			return err
		})
		if err == nil {
			h.t.Error("not refused")
		}
	})
}
