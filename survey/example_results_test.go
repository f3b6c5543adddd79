package survey_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
)

// What customers said, counted: over all, and by a value that events have.
func ExampleResults() {
	ctx, clk := context.Background(), clock.NewMock()
	clk.Set(time.Date(2026, 5, 14, 5, 12, 34, 0, time.UTC))
	s := survey.New(memory.New(&memory.Options{Clock: clk}), nil, nil)
	must(s.Publish(ctx, survey.Version{SurveyID: 1, Name: "Visits", IntegrationID: "visits", Definition: json.RawMessage(`{
		"questions": [{"id": "recommend", "type": "rating", "min": 0, "max": 10, "metric": "nps"}],
		"dimensions": ["candidate.city"],
		"triggers": [{"id": "visit", "enabled": true, "eventKind": "visit", "dedupRecipe": ["templateId", "recipient.address", "candidate.wip"],
			"schedule": {"initialDelay": "1h"}, "channel": "sms:twilio"}]
	}`)}))
	for n, score := range []int{10, 9, 9, 7, 2, 10, 10, 3, 6, 8} {
		city := []string{"Cork", "Galway"}[n/5]
		report := must(s.Ingest(ctx, survey.Batch{EventKind: "visit", Items: []survey.Item{{
			Payload:   json.RawMessage(fmt.Sprintf(`{"wip": %d, "city": %q}`, n, city)),
			Recipient: survey.Recipient{Address: "+353 20 910 0001"},
		}}}))
		must(s.Complete(ctx, "", report.Items[0].Instances[0].PublicID, survey.Response{Answers: json.RawMessage(fmt.Sprintf(`{"recommend": %d}`, score))}))
	}
	for _, by := range []string{"", "candidate.city"} {
		for _, g := range must(s.Results().Get(ctx, "", survey.ResultQuery{SurveyID: 1, By: by})).Groups {
			q := g.Questions[0]
			mean, _ := q.Mean()
			nps, _ := q.NPS()
			fmt.Printf("%-6s n=%d mean %.1f, NPS %+.0f\n", g.Value, q.N, mean, nps)
		}
	}
	// Output:
	//        n=10 mean 7.4, NPS +20
	// Cork   n=5 mean 7.4, NPS +40
	// Galway n=5 mean 7.4, NPS +0
}
