package survey_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// A response becomes a complaint ticket, where its trigger routes it so, and is
// exported. Whoever submits it again gets the first receipt.
//
//spec:t-053
func ExampleService_Complete() {
	ctx, clk := context.Background(), clock.NewMock()
	clk.Set(time.Date(2026, 5, 14, 5, 12, 34, 0, time.UTC))
	store := memory.New(&memory.Options{Clock: clk})
	s := survey.New(store, nil)
	s.Subscribe(survey.SubscriberFunc("tickets", func(_ context.Context, e survey.ResponseCompleted) error {
		var answers map[string]any
		err := json.Unmarshal(e.Answers, &answers)
		fmt.Println("ticket for", e.CustomerRef+":", answers["complaint"])
		return err
	}))
	must(s.Publish(ctx, survey.Version{SurveyID: 4523, Name: "CSI-GR", IntegrationID: "csi-gr", Definition: json.RawMessage(tickets)}))
	report := must(s.Ingest(ctx, survey.Batch{EventKind: "service-visit-closed", Items: []survey.Item{{
		Payload:   json.RawMessage(visit),
		Recipient: survey.Recipient{Address: "+964 770 000 0001", Locale: "ar", CustomerRef: "cust-123"},
	}}}))
	publicID := report.Items[0].Instances[0].PublicID

	// The form is the host's own here; behind a link it is Submit.
	_, err := s.Complete(ctx, "", publicID, survey.Response{Answers: json.RawMessage(`{"rate": 11, "colour": "red"}`)})
	var faults *form.AnswersError
	if errors.As(err, &faults) {
		for _, f := range faults.Faults {
			fmt.Println(f.QuestionID, f.Code)
		}
	}
	response := survey.Response{Answers: json.RawMessage(`{"rate": 3, "has-a-complaint": "yes", "complaint": "It was late."}`)}
	fmt.Println("repeated:", must(s.Complete(ctx, "", publicID, response)).Repeated)
	fmt.Println("repeated:", must(s.Complete(ctx, "", publicID, response)).Repeated)

	if err := belfry.NewPoller(store, nil, s).Drain(ctx); err != nil {
		fmt.Println(err)
	}
	for _, d := range must(s.Support().Event(ctx, "", publicID)).Deliveries {
		fmt.Println(d.Subscriber, d.Status)
	}
	var export bytes.Buffer
	must(s.Responses().ExportCSV(ctx, "", &export, survey.ResponseQuery{SurveyID: 4523}))
	line := strings.Split(export.String(), "\r\n")[1]
	fmt.Println(strings.Replace(line, publicID, "8f3a1c4e-…", 1))
	// Output:
	// colour unknown
	// rate max
	// has-a-complaint required
	// repeated: false
	// repeated: true
	// ticket for cust-123: It was late.
	// bi Pending
	// tickets Dispatched
	// 8f3a1c4e-…,4523,1,csi-gr-trigger,,cust-123,,2026-05-14T05:12:34Z,2026-05-14T05:12:34Z,3,yes,It was late.
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
