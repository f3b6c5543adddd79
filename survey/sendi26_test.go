package survey_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// rated is a response to the surveys of definition.
var rated = survey.Response{Answers: json.RawMessage(`{"rate": 9}`)}

// I-26: a customer who answers after the claim, by a link of before, is not sent
// another one: the row is stale when the call is about to begin.
func TestI26_WhoAnswersAfterTheClaimIsNotSentToAnyMore(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.use(survey.Options{Renderer: rendererFunc(func(d form.LinkData) (form.Parts, error) {
			if d.Ordinal == 1 {
				if _, err := h.survey.Submit(context.Background(), tokenOf(d.URL), rated); err != nil {
					return form.Parts{}, err
				}
			}
			return form.Parts{Text: d.URL}, nil
		})}, h.memory())
		id := h.linked(definition("0d", []string{"1d", "1d"}))
		h.drain()
		h.clock.Add(day)
		got, err := h.survey.PollOnce(h.t.Context(), 10)
		if err != nil || got.Stale != 1 {
			h.t.Fatalf("%+v, %v", got, err)
		}
		h.at(10 * day)
		i := h.status(id, survey.StatusCompleted)
		if n := len(h.sent()); n != 1 || i.Calls != 1 || !i.CallStartedOn.IsZero() || !i.LeaseExpiresOn.IsZero() {
			h.t.Errorf("%d calls: %+v", n, i)
		}
	})
}

// A customer who answers while the reminder is with the provider: the answer
// stands, and the send is in the log.
func TestACallUnderWayDoesNotUndoAnAnswer(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.use(survey.Options{}, channel(func(ctx context.Context, m notify.Message) (notify.Receipt, error) {
			if m.Attempt == 2 {
				if _, err := h.survey.Submit(ctx, tokenOf(linkIn(m)), rated); err != nil {
					h.t.Error(err)
				}
			}
			return h.send(ctx, m)
		}))
		id := h.linked(definition("0d", []string{"1d", "1d"}))
		h.drain()
		h.at(day)
		h.at(10 * day)
		i := h.status(id, survey.StatusCompleted)
		if diff := cmp.Diff([]string{"0/1 delivered", "1/2 delivered"}, h.log(id)); diff != "" {
			h.t.Error(diff)
		}
		if !i.LastSentOn.Equal(start.Add(day)) || !i.CallStartedOn.IsZero() || len(h.sent()) != 2 {
			h.t.Errorf("%d calls: %+v", len(h.sent()), i)
		}
	})
}

// Nobody who has answered before the first send gets one.
//
//spec:t-048
func TestWhoHasAnsweredIsNotSentTo(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		id := h.linked(definition("0d", []string{"1d"}))
		h.drain()
		if _, err := h.survey.Submit(h.t.Context(), tokenOf(linkIn(h.sent()[0])), rated); err != nil {
			h.t.Fatal(err)
		}
		h.at(day)
		h.at(60 * day)
		if h.status(id, survey.StatusCompleted); len(h.sent()) != 1 {
			h.t.Errorf("%d calls", len(h.sent()))
		}
	})
}
