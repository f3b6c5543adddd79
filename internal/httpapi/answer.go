// Package httpapi is shared by the HTTP handlers of the domains: answers in JSON, errors
// as in RFC 9457, bodies of limited size, and authorisation. It knows no domain. Each
// route defines what it takes and who may call it.
package httpapi

import (
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/belfry-go/belfry/internal/loglimit"
)

// Problem is a refusal as in RFC 9457, whose type is its status. A handler that has
// more to say embeds it and adds members.
type Problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
}

// Code is the status of the answer.
func (p Problem) Code() int { return p.Status }

// A Refusal is a [Problem], or a struct that embeds one.
type Refusal interface{ Code() int }

// Refuse answers with p, all of its members included.
func Refuse(w http.ResponseWriter, p Refusal) {
	write(w, "application/problem+json", p.Code(), p)
}

// Fail answers with a problem that is only a title.
func Fail(w http.ResponseWriter, status int, title string) {
	Refuse(w, Problem{Title: title, Status: status})
}

// Reply answers with v as JSON.
func Reply(w http.ResponseWriter, status int, v any) {
	write(w, "application/json", status, v)
}

func write(w http.ResponseWriter, media string, status int, v any) {
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that is gone
}

// LogFailure logs what failed on our side. Where the caller is gone there is nothing
// to log: that is why it failed. Nothing of the request is logged, and
// a line a second at most.
func LogFailure(r *http.Request, logger *slog.Logger, what string, err error) {
	if r.Context().Err() == nil {
		loglimit.Limited(logger).ErrorContext(r.Context(), "belfry: "+what, slog.Any("error", err))
	}
}
