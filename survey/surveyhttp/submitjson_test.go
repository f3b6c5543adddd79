package surveyhttp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAProgramSubmitsJSON(t *testing.T) {
	eachHost(t, func(h *host) {
		token := h.link("en")
		h.clock.Add(time.Hour)
		body := `{"answers": {"rate": 9, "has-a-complaint": "no"}, "meta": {"agentId": "agent 7", "completedAt": "2026-05-14T08:30:00+03:00", "locale": "ar"}}`
		want := `{"publicId":"` + h.publicID + `","completedAt":"2026-05-14T05:30:00Z"}` + "\n"
		for range 2 {
			if status, got := h.post(token, body); status != 200 || got != want {
				h.Error(status, got)
			}
		}
		if status, got := h.post(token, `{"answers":{"rate":1,"has-a-complaint":"no"},"meta":null}`); status != 409 || got != `{"title":"the survey has been answered before","status":409}`+"\n" {
			h.Error(status, got)
		}
		got, err := h.survey.Responses().Get(h.Context(), "tenant", h.publicID)
		if err != nil || got.AgentID != "agent 7" || got.Locale != "ar" {
			h.Error(got, err)
		}
	})
}

func TestAllFaultsOfASubmissionAreListed(t *testing.T) {
	eachHost(t, func(h *host) {
		token := h.link("en")
		status, got := h.post(token, `{"answers": {"rate": 11, "by": "train", "colour": "red"}}`)
		want := `{"title":"the answers do not fit the questions","status":422,"errors":[` +
			`{"questionId":"colour","code":"unknown","problem":"an answer to a question that the survey does not have"},` +
			`{"questionId":"rate","code":"max","problem":"is more than 10"},` +
			`{"questionId":"has-a-complaint","code":"required","problem":"needs an answer"},` +
			`{"questionId":"by","code":"option","problem":"is not one of the options"}]}` + "\n"
		if diff := cmp.Diff(want, got); status != 422 || diff != "" {
			h.Error(status, diff)
		}
	})
}

// A program that does not know whether its answers came through sends them again.
func TestAnIdempotencyKeyTellsARepeat(t *testing.T) {
	t.Parallel()
	h := memoryHost(t)
	token := h.link("en")
	for i, body := range []string{`{"answers":{"rate":9,"has-a-complaint":"no"}}`, `{"answers":{"rate":8,"has-a-complaint":"no"}}`} {
		resp := call(t, h.forms, "POST", "/SurveyInstances/"+token+"/responses", body, "Content-Type", "application/json", "Idempotency-Key", "once")
		if text := resp.Body; resp.Status != 200 || !strings.Contains(text, h.publicID) {
			t.Error(i, resp.Status, text)
		}
	}
	if resp := call(t, h.forms, "POST", "/SurveyInstances/"+token+"/responses", good, "Content-Type", "application/x-www-form-urlencoded", "Idempotency-Key", strings.Repeat("k", 300)); resp.Status == 200 {
		t.Error(resp.Status)
	}
	if got := h.answers(); got != `{"has-a-complaint":"no","rate":9}` {
		t.Error(got)
	}
}
