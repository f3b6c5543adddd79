package browsertest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/surveyhttp"
)

// desk serves a worklist of two responses with hostile texts.
func desk(t *testing.T) (s *survey.Service, url string) {
	t.Helper()
	s = survey.New(memory.New(nil), nil, nil)
	definition := `{"unhappy": {"questionId": "rate", "op": "<=", "value": 2}, "queue": "candidate.wip", "questions": [{"id": "rate", "type": "rating", "label": {"en": "How was it?"}}, {"id": "why", "type": "longText", "label": "لماذا؟"}],
		"triggers": [{"id": "t", "enabled": true, "eventKind": "visit", "dedupRecipe": ["templateId", "recipient.address", "candidate.wip"],
			"schedule": {"initialDelay": "0d"}, "channel": "sms:none"}]}`
	if _, err := s.Publish(t.Context(), survey.Version{SurveyID: 1, Name: "n", IntegrationID: "i", Definition: json.RawMessage(definition)}); err != nil {
		t.Fatal(err)
	}
	for n, rate := range []int{2, 1} {
		report, err := s.Ingest(t.Context(), survey.Batch{EventKind: "visit", Items: []survey.Item{{
			Payload:   json.RawMessage(fmt.Sprintf(`{"wip": %d, "visited": %q}`, n, strings.Repeat("Longfordshire", 6))),
			Recipient: survey.Recipient{Address: "+353 20 910 0001", CustomerRef: "cust-" + hostile},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		answers, err := json.Marshal(map[string]any{"rate": rate, "why": "كان الانتظار طويلا " + hostile})
		if err == nil {
			_, err = s.Complete(t.Context(), "", report.Items[0].Instances[0].PublicID, survey.Response{Answers: answers})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(surveyhttp.Worklist(s, func(*http.Request) (surveyhttp.Caller, error) {
		return surveyhttp.Caller{Responses: true, Actor: "kim"}, nil
	}, nil))
	t.Cleanup(server.Close)
	return s, server.URL + "/1"
}

// By keyboard alone, without JavaScript, on a phone and a desk: somebody opens the
// newest response, takes it, forgets the note, is told, writes it, and the response leaves the
// list.
func TestADeskHandlesAResponseByKeyboard(t *testing.T) {
	t.Parallel()
	for _, width := range []int64{360, 1280} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			s, url := desk(t)
			c := customer{t, browse(t, window{width, 900, false}), false}
			see := func(page string) {
				t.Helper()
				c.look(fmt.Sprintf("worklist-%d-%s", width, page))
				if n := eval[int](c.ctx, t, `document.querySelectorAll("script,img,iframe").length`); n != 0 {
					t.Errorf("%s: %d of a hostile text's elements", page, n)
				}
			}
			do(c.ctx, t, chromedp.Navigate(url))
			see("1-list")
			if got := eval[string](c.ctx, t, `document.querySelector("article").textContent`); !strings.Contains(got, "score 0 of 100") {
				t.Errorf("the first is %s", got)
			}
			do(c.ctx, t, chromedp.Focus("article a"))
			c.press(kb.Enter)
			do(c.ctx, t, chromedp.WaitVisible("#note"))
			do(c.ctx, t, chromedp.Focus("[value=take]"))
			c.press(kb.Enter)
			do(c.ctx, t, chromedp.WaitVisible("[value=release]"))
			see("2-response")
			if wide := eval[float64](c.ctx, t, `document.querySelector("th").getBoundingClientRect().width`); wide < 100 {
				t.Errorf("the names of facts have %v pixels", wide)
			}
			c.tabTo("note")
			c.press(" ", kb.Tab, kb.Enter)
			do(c.ctx, t, chromedp.WaitVisible("[role=alert]"))
			see("3-no-note")
			c.tabTo("note")
			for _, r := range "called her" {
				c.press(string(r))
			}
			c.press(kb.Tab, kb.Enter)
			do(c.ctx, t, chromedp.WaitVisible("blockquote"))
			see("4-handled")
			do(c.ctx, t, chromedp.Navigate(url))
			see("5-list")
			if n := eval[int](c.ctx, t, `document.querySelectorAll("article").length`); n != 1 {
				t.Errorf("%d wait", n)
			}
			left, err := s.Support().Worklist(t.Context(), "", survey.WorklistQuery{SurveyID: 1})
			if err != nil || len(left.Items) != 1 || left.Items[0].Score != 25 {
				t.Error(left, err)
			}
		})
	}
}
