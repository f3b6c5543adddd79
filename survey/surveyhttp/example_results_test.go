package surveyhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/surveyhttp"
)

// A page of results for whom the host's own sign-in knows.
func ExampleResults() {
	ctx := context.Background()
	s := survey.New(memory.New(nil), nil, nil)
	if _, err := s.Publish(ctx, survey.Version{SurveyID: 1, Name: "Visits", IntegrationID: "visits", Definition: json.RawMessage(`{
		"title": "Your visit", "questions": [{"id": "rate", "type": "rating"}]
	}`)}); err != nil {
		fmt.Println(err)
	}
	site := http.NewServeMux()
	site.Handle("/results/", http.StripPrefix("/results", surveyhttp.Results(s, func(r *http.Request) (surveyhttp.Caller, error) {
		if r.Header.Get("X-Signed-In") == "" { // in earnest: the session
			return surveyhttp.Caller{}, errors.New("nobody")
		}
		return surveyhttp.Caller{Results: true}, nil
	}, nil)))
	for _, who := range []string{"", "ann"} {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/results/1", nil)
		r.Header.Set("X-Signed-In", who)
		w := httptest.NewRecorder()
		site.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("Content-Type"))
	}
	// Output:
	// 401 application/problem+json
	// 200 text/html; charset=utf-8
}
