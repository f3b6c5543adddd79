package surveyhttp

import (
	"encoding/json"
	"net/http"

	"github.com/belfry-go/belfry/survey"
)

// problem is an answer as in RFC 9457, whose type is its status.
type problem struct {
	Title  string               `json:"title"`
	Status int                  `json:"status"`
	Errors []survey.AnswerFault `json:"errors,omitempty"`
}

func (p problem) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // a client that is gone
}

// wantsJSON says whether whoever calls is a program.
func wantsJSON(r *http.Request) bool { return media(r) == "application/json" }

// answer answers without a form, a program as well as a customer.
func (f *forms) answer(w http.ResponseWriter, r *http.Request, status int, state State) {
	if !wantsJSON(r) {
		f.show(w, r, status, f.blank(r, state))
		return
	}
	title := "there is no survey here"
	if state == StateBusy {
		title = "try again later"
	}
	problem{Status: status, Title: title}.write(w)
}
