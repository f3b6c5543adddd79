package survey_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/survey"
)

// A desk hears of an unhappy response with the next poll, and of a happy one never.
func ExampleService_Alert() {
	d := newDemo()
	s := survey.New(d.store, nil, nil)
	s.Subscribe(s.Alert(survey.AlertOptions{
		Channel: channel.Func("email:desk", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			fmt.Println(m.To, "-", m.Subject)
			return channel.Receipt{ID: "d-1"}, nil
		}),
		To: "desk@host.example", URL: "https://desk.example/worklist/{surveyId}/{publicId}",
	}))
	must(s.Publish(d.ctx, survey.Version{SurveyID: 4523, Name: "CSI-GR", IntegrationID: "csi-gr", Definition: json.RawMessage(complaining)}))
	for _, said := range []string{
		`{"rate": 3, "has-a-complaint": "yes", "complaint": "It was late."}`,
		`{"rate": 10, "has-a-complaint": "no"}`,
	} {
		visit := closed()
		visit.Items[0].Payload = json.RawMessage(fmt.Sprintf(`{"wip": "%d", "dealerId": "1", "jobType": "GR"}`, len(said)))
		id := must(s.Ingest(d.ctx, visit)).Items[0].Instances[0].PublicID
		must(s.Complete(d.ctx, "", id, survey.Response{Answers: json.RawMessage(said)}))
	}
	mustSend(belfry.NewPoller(d.store, nil, s).Drain(d.ctx))
	// Output:
	// desk@host.example - CSI-GR: an unhappy response, score 22 out of 100
}
