package main

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// admin is what the support desk works with. It asks for the token too.
func (g *garage) admin() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /admin/links/{publicId}", g.explain)
	mux.HandleFunc("GET /admin/responses.csv", g.export)
	mux.HandleFunc("POST /admin/dead-letters/{subscriber}/replay", g.replay)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := g.known(r); err != nil {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// linkStory is what is known about a link.
type linkStory struct {
	Status      string            `json:"status"`
	Now         string            `json:"now"`                   // what would happen next
	Sends       []string          `json:"sends"`                 // the log
	Subscribers map[string]string `json:"subscribers,omitempty"` // of its response
}

func (g *garage) explain(w http.ResponseWriter, r *http.Request) {
	e, err := g.surveys.Explain(r.Context(), "", r.PathValue("publicId"))
	if err != nil {
		g.refuse(w, err)
		return
	}
	story := linkStory{Status: e.Instance.Status, Now: e.Now}
	for _, d := range e.Deliveries {
		story.Sends = append(story.Sends, d.String())
	}
	event, err := g.surveys.Event(r.Context(), "", e.Instance.PublicID)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		g.refuse(w, err)
		return
	}
	for _, d := range event.Deliveries {
		if story.Subscribers == nil {
			story.Subscribers = map[string]string{}
		}
		story.Subscribers[d.Subscriber] = d.Status
	}
	answer(w, story)
}

// replay has a subscriber called again for what it was not able to take.
func (g *garage) replay(w http.ResponseWriter, r *http.Request) {
	by := survey.By{Actor: "the administrator", Reason: r.FormValue("reason")}
	if by.Reason == "" {
		http.Error(w, "reason: say why", http.StatusBadRequest)
		return
	}
	n, err := g.surveys.ReplayDeadLetters(r.Context(), "", r.PathValue("subscriber"), by, r.FormValue("dryRun") != "")
	if err != nil {
		g.refuse(w, err)
		return
	}
	answer(w, map[string]int{"replayed": n})
}

func (g *garage) export(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	if _, err := g.surveys.ExportCSV(r.Context(), "", w, survey.ResponseQuery{SurveyID: surveyID}); err != nil {
		g.log.Error("the export broke off", "error", err)
		panic(http.ErrAbortHandler) // so that nobody takes half of it for the whole
	}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the administrator is gone
}

func (g *garage) refuse(w http.ResponseWriter, err error) {
	if errors.Is(err, storage.ErrNotFound) {
		http.Error(w, "there is no such link", http.StatusNotFound)
		return
	}
	g.log.Error("the administrator was not served", "error", err)
	http.Error(w, "try again", http.StatusServiceUnavailable)
}
