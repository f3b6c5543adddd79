package automationhttp

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/internal/httpapi"
	"github.com/belfry-go/belfry/internal/strictjson"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// maxBody is the limit of a request body in bytes.
const maxBody = 8 << 10

// readBody reads one JSON object into what v points to. If it returns false it has
// written the answer.
func readBody(w http.ResponseWriter, r *http.Request, v any) bool {
	text, refused := bodyText(w, r)
	if refused != nil {
		httpapi.Refuse(w, refused)
		return false
	}
	faults := strictjson.Decode(text, v)
	if len(faults) == 0 {
		return true
	}
	p := problem{Problem: httpapi.Problem{Status: http.StatusBadRequest, Title: "the body is not the JSON that this route takes"}}
	for _, f := range faults {
		p.Errors = append(p.Errors, fault{f.Path, f.Problem})
	}
	httpapi.Refuse(w, p)
	return false
}

// bodyText rejects all but application/json, so cross-site forms cannot post. A
// Content-Encoding that is there and empty is rejected too.
func bodyText(w http.ResponseWriter, r *http.Request) ([]byte, *httpapi.Problem) {
	if httpapi.Media(r) != "application/json" {
		return nil, &httpapi.Problem{Status: http.StatusUnsupportedMediaType, Title: "the body must be application/json"}
	}
	if slices.Contains(r.Header.Values("Content-Encoding"), "") {
		w.Header().Set("Accept-Encoding", "identity")
		return nil, httpapi.Compressed
	}
	return httpapi.PlainBody(w, r, maxBody)
}

const (
	defaultLimit = 50
	maxLimit     = 200
)

// page reads the page parameters of a list. If it returns false it has written the
// answer.
func page(w http.ResponseWriter, r *http.Request) (storage.Page, bool) {
	p := storage.Page{Limit: defaultLimit}
	wrong := func(text string) (storage.Page, bool) {
		httpapi.Fail(w, http.StatusBadRequest, text)
		return p, false
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return wrong("the query cannot be read")
	}
	for name, values := range query {
		switch {
		case name != "after" && name != "limit":
			return wrong(`the query may only have "after" and "limit"`)
		case len(values) > 1:
			return wrong("the query says " + name + " twice")
		}
	}
	p.After = query.Get("after")
	if query.Has("limit") {
		p.Limit, err = strconv.Atoi(query.Get("limit"))
		if err != nil || p.Limit < 1 || p.Limit > maxLimit {
			return wrong(`"limit" must be a number from 1 to ` + strconv.Itoa(maxLimit))
		}
	}
	return p, true
}

// isToken reports whether a header is a valid idempotency key.
func isToken(text string) bool {
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return len(text) >= 1 && len(text) <= 200
}

// idempotent is the run id for an actor's Idempotency-Key: a UUID of version 8, the same
// for the same request, and different for another actor.
func idempotent(actor, key string) string {
	u := sha256.Sum256([]byte("Idempotency-Key\x00" + actor + "\x00" + key))
	u[6] = u[6]&0x0f | 0x80 // version 8
	u[8] = u[8]&0x3f | 0x80 // the variant of RFC 9562
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:16])
}

// problem is an error answer with optional fields.
type problem struct {
	httpapi.Problem
	Errors []fault `json:"errors,omitempty"` // of a body
	Manual string  `json:"manualRunGuid,omitempty"`
}

// fault is one error in a body. Path is empty if it concerns the whole body.
type fault struct {
	Path    string `json:"path"`
	Problem string `json:"problem"`
}

// refuse answers a call that returned an error. Only internal errors are logged.
func (a *api) refuse(w http.ResponseWriter, r *http.Request, what string, err error, p problem) {
	var part *keys.PartError // there can be no such one
	var value *storage.ValueError
	switch {
	case errors.As(err, &value) && value.Column == "scope": // the host names no tenant
		p.Status, p.Title = http.StatusForbidden, "not allowed"
	case errors.Is(err, storage.ErrNotFound), errors.As(err, &part):
		p.Status, p.Title = http.StatusNotFound, "this subscription or run does not exist"
	case errors.Is(err, report.ErrActionRefused):
		p.Status, p.Title = http.StatusConflict, "the subscription is deactivated, or the old scheduler has its runs"
	case errors.Is(err, storage.ErrPage):
		p.Status, p.Title = http.StatusBadRequest, `"after" must be the "next" of a page`
	default:
		httpapi.LogFailure(r, a.logger, what, err)
		p.Status, p.Title = http.StatusServiceUnavailable, "try again"
	}
	httpapi.Refuse(w, p)
}
