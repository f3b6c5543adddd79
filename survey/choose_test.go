package survey_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// chosen are the choices that results count apart, and the responses beside them.
func (h *host) chosen() string {
	h.t.Helper()
	chosen, responses, err := h.survey.Counts(h.t.Context(), survey.ResultQuery{SurveyID: 4523})
	if err != nil {
		h.t.Fatal(err)
	}
	return fmt.Sprint(chosen, " responses ", responses)
}

func (h *host) choose(token, answers string) {
	h.t.Helper()
	if err := h.survey.Choose(h.t.Context(), token, json.RawMessage(answers)); err != nil {
		h.t.Fatal(err)
	}
}

// What is clicked in a message is counted apart, the last click of each link, until the form
// is sent; a poll and a recount change nothing. The link goes on as before.
func TestAChoiceCountsApartUntilTheFormIsSent(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		h.ingest()
		h.at(2 * oneDay)
		token := tokenOf(linkIn(h.sent()[0]))
		is := func(want string) {
			t.Helper()
			for _, when := range []string{"at once", "polled", "counted again"} {
				if got := h.chosen(); got != want {
					t.Errorf("%s: %q, want %q", when, got, want)
				}
				h.drain()
				if when == "polled" {
					if _, err := h.survey.Results().Recount(t.Context(), "", 4523); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		before := h.row(token)
		h.choose(token, `{"rate": 9}`)
		is("map[rate:rating:1:10:map[9:1]] responses 0")
		h.choose(token, `{"rate": "3", "complaint": "dropped: it is a text"}`)
		h.choose(token, `{"rate": 3}`)
		h.choose(token, `{"complaint": "nothing to note"}`)
		is("map[rate:rating:1:10:map[3:1]] responses 0")
		after := h.row(token)
		if after.Status != before.Status || !after.NextSendOn.Equal(before.NextSendOn) || !after.OpenedOn.IsZero() {
			t.Errorf("the link is %+v", after)
		}
		h.same("responses, answers, events", [3]int{}, h.counts())
		if _, err := h.survey.Submit(t.Context(), token, survey.Response{Answers: json.RawMessage(content)}); err != nil {
			t.Fatal(err)
		}
		is("map[] responses 1")
		if err := h.survey.Choose(t.Context(), token, json.RawMessage(`{"rate": 1}`)); !errors.Is(err, survey.ErrAnswered) {
			t.Errorf("after the response: %v", err)
		}
		is("map[] responses 1")
	})
}

// The choice of whoever never sends the form stays counted, without anything of the person:
// of an expired link, and of one that was erased.
func TestAChoiceStaysThatIsNeverSent(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		h.ingest()
		h.at(2 * oneDay)
		token := tokenOf(linkIn(h.sent()[0]))
		h.choose(token, `{"rate": 2}`)
		if err := h.erase("", "cust-123"); err != nil {
			t.Fatal(err)
		}
		if h.row(token).Chosen != nil {
			t.Error("an erased link has a choice")
		}
		h.at(99 * oneDay)
		for _, answers := range []string{`{"rate": 2}`, `{}`} {
			if err := h.survey.Choose(t.Context(), token, json.RawMessage(answers)); !errors.Is(err, survey.ErrNoSurvey) || errors.Is(err, survey.ErrExpired) {
				t.Errorf("erased: %v", err)
			}
		}
		if got := h.chosen(); got != "map[rate:rating:1:10:map[2:1]] responses 0" {
			t.Error(got)
		}
	})
}

func TestAChoiceThatIsNoneIsRefused(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		h.clock.Add(oneDay)
		token := h.invite("one")
		late := h.invite("late", func(r *survey.InstanceRow) { r.ExpiresOn = start.Add(oneDay) })
		for _, answers := range []string{`{"rate": 99}`, `{"rate": "many"}`, `{"has-a-complaint": "maybe"}`, `[]`} {
			wrong := (*form.AnswersError)(nil)
			if err := h.survey.Choose(t.Context(), token, json.RawMessage(answers)); !errors.As(err, &wrong) {
				t.Errorf("%s: %v", answers, err)
			}
		}
		for token, want := range map[string]error{late: survey.ErrExpired, "unknown": survey.ErrNoSurvey} {
			if err := h.survey.Choose(t.Context(), token, json.RawMessage(`{"rate": 9}`)); !errors.Is(err, want) {
				t.Errorf("%s: %v", token, err)
			}
		}
		if got := h.chosen(); got != "map[] responses 0" {
			t.Error(got)
		}
	})
}

// A click that comes while a reminder is being sent is kept, and so is the send.
func TestAChoiceAmidASend(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.use(survey.Options{}, channel.Func("memory:default", func(ctx context.Context, m channel.Message) (channel.Receipt, error) {
			h.choose(tokenOf(linkIn(m)), `{"rate": 8}`)
			return h.send(ctx, m)
		}))
		h.publish(csiGR)
		h.ingest()
		h.at(oneDay - 1)
		if row := h.row(tokenOf(linkIn(h.sent()[0]))); len(h.sent()) != 1 || row.Chosen == nil || row.Status != survey.StatusSent {
			t.Errorf("%d sent, %+v", len(h.sent()), row)
		}
		if got := h.chosen(); got != "map[rate:rating:1:10:map[8:1]] responses 0" {
			t.Error(got)
		}
	})
}
