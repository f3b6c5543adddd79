package survey_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// A process that stalls before its call is taken over, which counts as a try, since
// a row may bring down whoever takes it; when it goes on it makes no call.
//
//spec:t-073
func TestI26_WhoLostItsLeaseBeforeTheCallMakesNone(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		begun, goOn := make(chan struct{}), make(chan struct{})
		h.use(survey.Options{Renderer: rendererFunc(func(d form.LinkData) (form.Parts, error) {
			close(begun)
			<-goOn
			return form.Parts{Text: d.URL}, nil
		})}, h.memory())
		id := h.linked(csiGR)
		slow, done := h.survey, make(chan error)
		go func() {
			_, err := slow.PollOnce(h.t.Context(), 10)
			done <- err
		}()
		<-begun
		h.use(survey.Options{}, h.memory())
		h.at(2 * time.Minute) // the lease is over
		i := h.status(id, survey.StatusPending)
		if i.Tries != 1 || i.ReasonCode != survey.ReasonLeaseLost || i.Calls != 0 {
			h.t.Fatalf("the row is %+v", i)
		}
		close(goOn)
		if err := <-done; err != nil {
			h.t.Fatal(err)
		}
		if n := len(h.sent()); n != 0 {
			h.t.Fatalf("%d calls by the slow one", n)
		}
		h.at(10 * time.Minute)
		if diff := cmp.Diff([]string{"0/1 delivered"}, h.log(id)); diff != "" {
			h.t.Error(diff)
		}
		h.status(id, survey.StatusSent)
	})
}

// One slow call holds up no result of the others in its group.
func TestAResultIsKeptWhileAnotherCallGoesOn(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		slow, answer := make(chan struct{}, 1), make(chan struct{})
		slow <- struct{}{}
		h.use(survey.Options{}, channel(func(ctx context.Context, m notify.Message) (notify.Receipt, error) {
			select {
			case <-slow: // the first
				<-answer
			default:
			}
			return h.send(ctx, m)
		}))
		h.publish(csiGR)
		report := h.ingest(visit, strings.Replace(visit, "40956", "40957", 1))
		settled := h.store.Waker().Listen("survey_instance")
		defer settled.Close()
		ctx, stop := context.WithCancel(h.t.Context())
		done := make(chan error, 1)
		go func() { done <- h.poller.Run(ctx) }()
		<-settled.C() // its reminder is due some day
		statuses := map[string]int{}
		for _, it := range report.Items {
			statuses[h.explain(it.Instances[0].PublicID).Instance.Status]++
		}
		if diff := cmp.Diff(map[string]int{survey.StatusSent: 1, survey.StatusPending: 1}, statuses); diff != "" {
			h.t.Error(diff)
		}
		close(answer)
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			h.t.Error(err)
		}
	})
}
