package survey_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

//spec:t-051
func TestI23_ASubmitThatFailsAnywhereIsAllOrNothingAndMayBeRepeated(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		r := survey.Response{Answers: json.RawMessage(content)}
		for at, verbs := int64(0), int64(1); at <= verbs; at++ { // 0: the reply to the commit is lost
			token := h.invite(fmt.Sprint(at))
			store := newFaulty(h.store, at)
			store.commit = at == 0
			s := survey.New(store.Spy, &survey.Options{ExpectedSubscribers: []string{"bi"}})
			before := h.counts()
			_, err := s.Submit(t.Context(), token, r)
			want := before
			switch {
			case at == 0:
				h.same("unknown", true, errors.Is(err, storage.ErrOutcomeUnknown))
				want = [3]int{before[0] + 1, before[1] + 2, before[2] + 1}
				verbs = store.verbs.Load()
			case !errors.Is(err, errCrash):
				t.Fatalf("verb %d: %v", at, err)
			}
			h.same("responses, answers, events", want, h.counts())
			if got := h.row(token).Status == survey.StatusCompleted; got != (at == 0) {
				t.Errorf("verb %d: completed: %v", at, got)
			}
			got, err := s.Submit(t.Context(), token, r)
			h.same("error", error(nil), err)
			h.same("receipt", survey.Receipt{PublicID: "id-" + token, CompletedOn: start, Repeated: at == 0}, got)
			h.same("responses, answers, events", [3]int{before[0] + 1, before[1] + 2, before[2] + 1}, h.counts())
			h.same("event", "Pending: bi Pending 0", h.event("id-"+token))
		}
	})
}
