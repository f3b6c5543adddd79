package survey_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/belfry-go/belfry/survey"
)

// What unhappy customers wrote, the newest first.
func ExampleResponses_Comments() {
	ctx, s := context.Background(), published()
	for n, said := range []string{
		`{"rate": 3, "has-a-complaint": "yes", "complaint": "It was late."}`,
		`{"rate": 10, "has-a-complaint": "no"}`,
		`{"rate": 2, "has-a-complaint": "yes", "complaint": "Late again, and cold."}`,
	} {
		visit := closed()
		visit.Items[0].Payload = json.RawMessage(fmt.Sprintf(`{"wip": "%d", "dealerId": "1", "jobType": "GR"}`, n))
		id := must(s.Ingest(ctx, visit)).Items[0].Instances[0].PublicID
		must(s.Complete(ctx, "", id, survey.Response{Answers: json.RawMessage(said)}))
	}
	items, _, err := s.Responses().Comments(ctx, "", survey.CommentQuery{
		ResponseQuery: survey.ResponseQuery{SurveyID: 4523}, MaxScore: 50, Text: "late",
	})
	if err != nil {
		fmt.Println(err)
	}
	for _, item := range items {
		fmt.Println(item.Score, item.Comments[0].Text)
	}
	// Output:
	// 11 Late again, and cold.
	// 22 It was late.
}
