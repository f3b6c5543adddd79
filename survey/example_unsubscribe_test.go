package survey_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/survey"
)

// A mail says how to unsubscribe. Whoever does gets no reminder.
func ExampleService_Unsubscribe() {
	d := newDemo()
	var page string
	s := survey.New(d.store, notify.New(d.store, nil, channel.Func("email:print", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		page = m.UnsubscribeURL
		fmt.Println(m.Subject)
		return channel.Receipt{}, nil
	})), &survey.Options{
		SurveyURL: "https://example.com/s/{token}", UnsubscribeURL: "https://example.com/s/{token}/unsubscribe",
	})
	visits := strings.ReplaceAll(definition("1h", []string{"2d"}), "memory:default", "email:print")
	_, err := s.Publish(d.ctx, survey.Version{SurveyID: 7, Name: "Visits", IntegrationID: "visits", Definition: json.RawMessage(visits)})
	mustSend(err)
	got, err := s.Ingest(d.ctx, survey.Batch{EventKind: "service-visit-closed", Items: []survey.Item{{
		Payload: json.RawMessage(`{"wip": "40956"}`), Recipient: survey.Recipient{Address: "ann@example.com", CustomerRef: "c-1"},
	}}})
	mustSend(err)
	d.tick(s, time.Hour)
	mustSend(s.Unsubscribe(d.ctx, path.Base(path.Dir(page)))) // surveyhttp.Forms does it
	d.tick(s, 48*time.Hour)
	link, _, err := s.Support().Instance(d.ctx, "", got.Items[0].Instances[0].PublicID)
	mustSend(err)
	fmt.Println(link.Status, link.ReasonCode)
	// Output:
	// How was it? Your visit
	// Sent OptedOut
}
