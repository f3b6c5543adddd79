package surveyhttp_test

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/surveyhttp"
)

var linkKey = []byte("in earnest 32 random bytes of a vault")

// run serves surveys until ctx ends.
func run(ctx context.Context, store storage.Store, texts channel.Channel, l net.Listener) error {
	out := notify.New(store, nil, texts)
	surveys := survey.New(store, out, &survey.Options{SurveyURL: "https://visits.example/s/{token}", LinkKey: linkKey})
	surveys.Subscribe(survey.SubscriberFunc("tickets", openTicket))
	_, err := surveys.Publish(ctx, survey.Version{
		SurveyID: 4523, Name: "Visits", IntegrationID: "visits", Definition: json.RawMessage(visits),
	})
	if err != nil {
		return err
	}
	site := http.NewServeMux()
	site.Handle("/api/Surveys/", surveyhttp.API(surveys, authorise, nil))
	forms := surveyhttp.Forms(surveys, nil)
	site.Handle("/s/", forms)
	site.Handle("/SurveyInstances/", forms)
	server := http.Server{Handler: site, ReadTimeout: 10 * time.Second}
	defer server.Close()
	go func() { _ = server.Serve(l) }() // ends with Close
	return belfry.NewPoller(store, nil, surveys, out).Run(ctx)
}

// authorise lets the workshop's system tell of its own tenant's events.
func authorise(r *http.Request) (surveyhttp.Caller, error) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer the workshop's key")) == 0 {
		return surveyhttp.Caller{}, errors.New("unknown caller")
	}
	return surveyhttp.Caller{Scope: "", Ingest: true}, nil
}

var tickets = make(chan string, 1)

// openTicket passes a response on, in earnest to another system, which knows the
// event again by its id.
func openTicket(_ context.Context, e survey.ResponseCompleted) error {
	tickets <- "a ticket for " + e.CustomerRef + " " + string(e.Answers)
	return nil
}

// A whole program, over HTTP: an event comes in, a link goes out, the customer
// answers, and another system hears of it.
func ExampleForms() {
	ctx, stop := context.WithCancel(context.Background())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	links := make(chan string, 1)
	ended := make(chan error)
	go func() {
		ended <- run(ctx, memory.New(nil), channel.Func("sms:test", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			links <- m.Metadata["surveyUrl"]
			return channel.Receipt{ID: "1"}, nil
		}), l)
	}()
	post := func(path, media, body string) string {
		r, err := http.NewRequest(http.MethodPost, "http://"+l.Addr().String()+path, strings.NewReader(body))
		if err != nil {
			panic(err)
		}
		r.Header.Set("Content-Type", media)
		r.Header.Set("Authorization", "Bearer the workshop's key")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			panic(err)
		}
		defer answer.Body.Close()
		said, err := io.ReadAll(answer.Body)
		return fmt.Sprint(answer.StatusCode, " ", string(said[:min(len(said), 13)]), " ", err)
	}

	fmt.Println(post("/api/Surveys/Triggers/ingest", "application/json", `{"eventKind": "service-visit-closed",
		"items": [{"payload": {"wip": "40956"}, "recipient": {"address": "+9647700000001", "customerRef": "cust-123"}}]}`))
	token := strings.TrimPrefix(<-links, "https://visits.example/s/")
	fmt.Println(post("/SurveyInstances/"+token+"/responses", "application/json", `{"answers": {"rate": 2}}`))
	fmt.Println(<-tickets)
	stop()
	fmt.Println(<-ended)
	// Output:
	// 200 {"created":1, <nil>
	// 200 {"publicId":" <nil>
	// a ticket for cust-123 {"rate":2}
	// context canceled
}

// A host's own limiter, style and words.
func ExampleFormOptions() {
	tooMany := func(*http.Request) bool { return true }
	surveys := survey.New(memory.New(nil), nil, nil)
	forms := surveyhttp.Forms(surveys, &surveyhttp.FormOptions{
		Limit: func(r *http.Request) error {
			if tooMany(r) {
				return errors.New("too many")
			}
			return nil
		},
		Style: surveyhttp.DefaultStyle() + template.CSS("main { border-top: 4px solid #0a7 }"),
		Texts: map[string]surveyhttp.Texts{"en": {Submit: "Send my answers"}, "ku": {Submit: "بنێرە"}},
	})
	fmt.Println(forms != nil)
	// Output: true
}
