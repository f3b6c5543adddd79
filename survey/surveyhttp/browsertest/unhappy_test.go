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
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/support/supporthttp"
	"github.com/belfry-go/belfry/survey"
)

// desk serves the console over two unhappy responses with hostile texts.
func desk(t *testing.T) (s *survey.Service, url string) {
	t.Helper()
	store := memory.New(nil)
	s = survey.New(store, nil, nil)
	definition := `{"unhappy": {"questionId": "rate", "op": "<=", "value": 2}, "queue": "candidate.wip", "questions": [{"id": "rate", "type": "rating", "label": {"en": "How was it?"}}, {"id": "why", "type": "longText", "label": "لماذا؟"}],
		"triggers": [{"id": "t", "enabled": true, "eventKind": "visit", "dedupRecipe": ["templateId", "recipient.address", "candidate.wip"],
			"schedule": {"initialDelay": "0d"}, "channel": "sms:none"}]}`
	if _, err := s.Publish(t.Context(), survey.Version{SurveyID: 1, Name: "Visits", IntegrationID: "i", Definition: json.RawMessage(definition)}); err != nil {
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
	console := supporthttp.New(support.New(support.Options{
		Store: store, Survey: s, Ticket: func(w survey.WorkItem) string { return "https://desk.example/" + w.PublicID },
	}), supporthttp.Options{Authorise: func(*http.Request) (supporthttp.Caller, error) {
		return supporthttp.Caller{Actor: "kim", Read: true, Act: support.Actions(), Personal: true}, nil
	}})
	server := httptest.NewServer(console)
	t.Cleanup(server.Close)
	return s, server.URL + "/"
}

// By keyboard alone, without JavaScript, on a phone and a desk: a person ticks the newest response,
// takes it, reads it, says what was done, and it leaves the list.
func TestADeskHandlesAResponseByKeyboard(t *testing.T) {
	t.Parallel()
	for _, width := range []int64{360, 1280} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			s, url := desk(t)
			c := customer{t, browse(t, window{width, 900, false}), false}
			see := func(page string) {
				t.Helper()
				accessible(c.ctx, t, page, false)
				fitsDesk(c.ctx, t, page, width)
				picture(c.ctx, t, fmt.Sprintf("unhappy-%d-%s", width, page))
				if n := eval[int](c.ctx, t, `document.querySelectorAll("script,img,iframe").length`); n != 0 {
					t.Errorf("%s: %d of a hostile text's elements", page, n)
				}
			}
			choose := func(action string) {
				t.Helper()
				do(c.ctx, t, chromedp.Navigate(url+"unhappy"), chromedp.Focus(`input[name="target"]`))
				c.press(" ")
				do(c.ctx, t, chromedp.Focus(`button[value="`+action+`"]`))
				c.press(kb.Enter)
				do(c.ctx, t, chromedp.WaitVisible("#reason"))
			}
			do(c.ctx, t, chromedp.Navigate(url+"unhappy"))
			see("1-list")
			if got := eval[string](c.ctx, t, `document.querySelector("tbody .why").textContent`); !strings.Contains(got, "score 0 of 100") {
				t.Errorf("the first is %s", got)
			}
			choose("Take")
			see("2-take")
			do(c.ctx, t, chromedp.Focus("#reason"))
			c.press(kb.Enter)
			do(c.ctx, t, chromedp.WaitVisible(".lead.done"))
			do(c.ctx, t, chromedp.Navigate(url+"unhappy?mine=true"), chromedp.Focus(".what a"))
			see("3-mine")
			c.press(kb.Enter)
			do(c.ctx, t, chromedp.WaitVisible(".said"))
			see("4-response")
			choose("Handle")
			do(c.ctx, t, chromedp.Focus("#reason"), chromedp.KeyEvent("called her"))
			see("5-handle")
			c.press(kb.Enter)
			do(c.ctx, t, chromedp.WaitVisible(".lead.done"))
			do(c.ctx, t, chromedp.Navigate(url+"unhappy"))
			see("6-list")
			left, err := s.Support().Worklist(t.Context(), "", survey.WorklistQuery{})
			if err != nil || len(left.Items) != 1 || left.Items[0].Score != 25 {
				t.Error(left, err)
			}
		})
	}
}
