package automationhttp

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// problem is a refusal as in RFC 9457, whose type is its status.
type problem struct {
	Title  string  `json:"title"`
	Status int     `json:"status"`
	Detail string  `json:"detail,omitempty"`
	Errors []fault `json:"errors,omitempty"` // of a body
	Manual string  `json:"manualRunGuid,omitempty"`
}

// fault is one thing that is wrong with a body; Path is empty where it is all of it.
type fault struct {
	Path    string `json:"path"`
	Problem string `json:"problem"`
}

func (p problem) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // a client that is gone
}

// refuse answers a call that returned an error. Only what is our own failure is
// logged.
func (a *api) refuse(w http.ResponseWriter, r *http.Request, what string, err error, p problem) {
	var part *keys.PartError // there can be no such one
	switch {
	case errors.Is(err, storage.ErrNotFound), errors.As(err, &part):
		p.Status, p.Title = http.StatusNotFound, "there is no such subscription or run"
	case errors.Is(err, report.ErrRefused):
		p.Status, p.Title = http.StatusConflict, "the subscription is deactivated"
	case errors.Is(err, automation.ErrPage):
		p.Status, p.Title = http.StatusBadRequest, `"after" is not the "next" of a page`
	default:
		if r.Context().Err() == nil { // else the caller is gone
			a.logger.ErrorContext(r.Context(), "belfry: "+what, slog.Any("error", err))
		}
		p.Status, p.Title = http.StatusServiceUnavailable, "try again"
	}
	p.write(w)
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that is gone
}
