package survey_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/survey"
)

// bounded is a channel with connections for two calls.
type bounded struct{ channel.Channel }

func (bounded) MaxCalls() int { return 2 }

// A call is noted as started when its connection is free, so that no link that only
// waited for one is in doubt after a crash.
func TestALinkIsNotedAsCalledWhenAConnectionIsFree(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		begun, answer := make(chan struct{}, 5), make(chan struct{})
		h.use(survey.Options{}, bounded{through(func(ctx context.Context, m channel.Message) (channel.Receipt, error) {
			begun <- struct{}{}
			<-answer
			return h.send(ctx, m)
		})})
		h.publish(csiGR)
		var visits []string
		for i := range 5 {
			visits = append(visits, strings.Replace(visit, "40956", fmt.Sprint(40956+i), 1))
		}
		told := h.ingest(visits...)
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := h.poller.Drain(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		<-begun
		<-begun
		started := 0
		for _, it := range told.Items {
			if !h.explain(it.Instances[0].PublicID).Instance.CallStartedOn.IsZero() {
				started++
			}
		}
		close(answer)
		<-done
		if started != 2 || len(h.sent()) != 5 {
			h.t.Errorf("%d were noted as called at once, and %d sent", started, len(h.sent()))
		}
	})
}
