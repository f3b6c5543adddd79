package surveyhttp

import (
	"encoding/json"
	"net/http"
)

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that is gone
}

func fail(w http.ResponseWriter, status int, text string) {
	problem{Title: text, Status: status}.write(w)
}

// refuse answers a request that cannot be taken.
func refuse(w http.ResponseWriter, why *refusal) { fail(w, why.status, why.text) }
