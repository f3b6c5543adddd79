package surveyhttp_test

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/surveyhttp"
)

const visits = `{
	"title": {"en": "Your visit", "ar": "زيارتك"},
	"questions": [{"id": "rate", "type": "rating", "required": true, "label": {"en": "How was it?", "ar": "كيف كانت؟"}}],
	"triggers": [{"id": "visits", "enabled": true, "eventKind": "service-visit-closed",
		"dedupRecipe": ["templateId", "recipient.address", "candidate.wip"], "schedule": {"initialDelay": "0d"}, "channel": "sms:test"}]
}`

// A workshop's system tells of a visit, a timer turns the clock, a link goes out, and
// the customer answers.
func Example() {
	ctx := context.Background()
	clk := clock.NewMock()
	clk.Set(time.Date(2026, 5, 14, 5, 12, 34, 0, time.UTC))
	var link string
	store := memory.New(&memory.Options{Clock: clk})
	out := notify.New(store, nil, channel.Func("sms:test", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		_, after, _ := strings.Cut(m.Text, "https://example.com")
		link = strings.Fields(after)[0]
		return channel.Receipt{ID: "1"}, nil
	}))
	surveys := survey.New(store, out, &survey.Options{SurveyURL: "https://example.com/s/{token}"})
	if _, err := surveys.Publish(ctx, survey.Version{SurveyID: 4523, Name: "Visits", IntegrationID: "visits", Definition: json.RawMessage(visits)}); err != nil {
		panic(err)
	}

	site := http.NewServeMux()
	site.Handle("/api/Surveys/", surveyhttp.API(surveys, func(r *http.Request) (surveyhttp.Caller, error) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer the workshop's key")) == 0 {
			return surveyhttp.Caller{}, errors.New("unknown caller")
		}
		return surveyhttp.Caller{Ingest: true, Tick: true}, nil
	}, nil))
	forms := surveyhttp.Forms(surveys, nil)
	site.Handle("/s/", forms)
	site.Handle("/SurveyInstances/", forms)
	do := func(method, path, media, body string) string {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", media)
		r.Header.Set("Authorization", "Bearer the workshop's key")
		w := httptest.NewRecorder()
		site.ServeHTTP(w, r)
		return fmt.Sprint(w.Code, " ", w.Body)
	}

	said := do("POST", "/api/Surveys/Triggers/ingest", "application/json", `{"eventKind": "service-visit-closed",
		"items": [{"payload": {"wip": "40956"}, "recipient": {"address": "+9647700000001", "locale": "ar"}}]}`)
	fmt.Println(strings.Contains(said, `200 {"created":1,"skipped":0,"failed":0,`))
	fmt.Print(do("POST", "/api/Surveys/scheduler/tick", "", ""))

	fmt.Println(strings.Contains(do("GET", link, "", ""), `<html lang="ar" dir="rtl">`))
	token := strings.TrimPrefix(link, "/s/")
	fmt.Println(strings.TrimSpace(do("POST", "/SurveyInstances/"+token+"/responses", "application/x-www-form-urlencoded", "q.rate=5")))
	fmt.Println(strings.Contains(do("GET", link+"?sent", "", ""), "شكرًا لك"))
	fmt.Print(do("POST", "/SurveyInstances/"+token+"/responses", "application/json", `{"answers": {"rate": 1}}`))
	// Output:
	// true
	// 200 {"processed":1}
	// true
	// 303
	// true
	// 409 {"title":"the survey has been answered before","status":409}
}
