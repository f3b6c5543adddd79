package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/subscriber/webhook"
)

func Example() {
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var got struct{ Data survey.ResponseCompleted }
		err := webhook.Verify(secret, r.Header, body, now) // in earnest time.Now()
		fmt.Println(err, json.Unmarshal(body, &got), r.Header.Get("webhook-id"), string(got.Data.Answers))
	}))
	defer receiver.Close()

	bi, err := webhook.New(&webhook.Options{
		Key: "webhook:bi", URL: receiver.URL, Secrets: []string{secret},
		Trusted: []string{"127.0.0.1"}, // in earnest receivers are public, and called over https
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = bi.Close() }()

	// In earnest service.Subscribe(bi) does this.
	err = bi.Dispatch(context.Background(), survey.ResponseCompleted{
		EventID: "survey-response-completed-8f3a", Answers: json.RawMessage(`{"rate":3}`), CandidateMetadata: json.RawMessage(`{}`), DispatchedOn: now,
	})
	fmt.Println(err)
	// Output:
	// <nil> <nil> survey-response-completed-8f3a {"rate":3}
	// <nil>
}
