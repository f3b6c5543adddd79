package surveyhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/surveyhttp"
)

// A page of what a desk has to handle, by whom the host's own sign-in knows.
func ExampleWorklist() {
	s := survey.New(memory.New(nil), nil, nil)
	site := http.NewServeMux()
	site.Handle("/worklist/", http.StripPrefix("/worklist", surveyhttp.Worklist(s, func(r *http.Request) (surveyhttp.Caller, error) {
		name := r.Header.Get("X-Signed-In") // in earnest: the session
		return surveyhttp.Caller{Responses: name != "", Actor: name}, nil
	}, nil)))
	for _, who := range []string{"", "ann"} {
		r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/worklist/1", nil)
		r.Header.Set("X-Signed-In", who)
		w := httptest.NewRecorder()
		site.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("Content-Type"))
	}
	// Output:
	// 403 application/problem+json
	// 200 text/html; charset=utf-8
}
