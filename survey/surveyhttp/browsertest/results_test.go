package browsertest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/surveyhttp"
)

// The page of results fits a phone and a desk, is read by everybody, and has nothing that
// its policy forbids.
func TestResultsAreReadByEverybody(t *testing.T) {
	t.Parallel()
	s := survey.New(memory.New(nil), nil, nil)
	definition := `{"title": "Your visit", "dimensions": ["candidate.city"],
		"questions": [{"id": "nps", "type": "rating", "min": 0, "max": 10, "label": {"en": "Would you recommend us?"}},
			{"id": "by", "type": "choice", "label": "How did you come?", "options": [{"value": "car", "label": "By car"}, {"value": "bus", "label": "بالحافلة"}]}],
		"triggers": [{"id": "t", "enabled": true, "eventKind": "visit", "dedupRecipe": ["templateId", "recipient.address", "candidate.wip"],
			"schedule": {"initialDelay": "0d"}, "channel": "sms:none"}]}`
	if _, err := s.Publish(t.Context(), survey.Version{SurveyID: 1, Name: "n", IntegrationID: "i", Definition: json.RawMessage(definition)}); err != nil {
		t.Fatal(err)
	}
	for n := range 40 {
		report, err := s.Ingest(t.Context(), survey.Batch{EventKind: "visit", Items: []survey.Item{{
			Payload:   json.RawMessage(fmt.Sprintf(`{"wip": %d, "city": %q}`, n, strings.Repeat("Longfordshire", 1+n%3))),
			Recipient: survey.Recipient{Address: "+353 20 910 0001"},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		answers := fmt.Sprintf(`{"nps": %d, "by": %q}`, n%11, []string{"car", "bus"}[n%2])
		if _, err := s.Complete(t.Context(), "", report.Items[0].Instances[0].PublicID, survey.Response{Answers: json.RawMessage(answers)}); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(surveyhttp.Results(s, func(*http.Request) (surveyhttp.Caller, error) {
		return surveyhttp.Caller{Results: true, Responses: true}, nil
	}, nil))
	t.Cleanup(server.Close)
	for _, width := range []int64{360, 1280} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			ctx := browse(t, window{width, 900, false})
			do(ctx, t, chromedp.Navigate(server.URL+"/1?by=candidate.city&step=day"))
			fits(ctx, t, fmt.Sprint(width))
			picture(ctx, t, fmt.Sprintf("results-%d", width))
			accessible(ctx, t, fmt.Sprint(width), false)
			if bars := eval[int](ctx, t, `document.querySelectorAll(".bars rect").length`); bars != 11+2 {
				t.Errorf("%d bars", bars)
			}
			if color := eval[string](ctx, t, `getComputedStyle(document.querySelector(".bars rect")).fill`); color != "rgb(11, 87, 164)" {
				t.Errorf("the style sheet is not in use: %s", color)
			}
		})
	}
}
