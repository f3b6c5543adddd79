package survey_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/survey"
)

// A process that stalls before its call is taken over, which counts as a try, since
// a row may bring down whoever takes it; when it goes on it makes no call.
func TestI26_WhoLostItsLeaseBeforeTheCallMakesNone(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		begun, goOn := make(chan struct{}), make(chan struct{})
		h.use(survey.Options{Renderer: rendererFunc(func(d survey.LinkData) (survey.Parts, error) {
			close(begun)
			<-goOn
			return survey.Parts{Text: d.URL}, nil
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
