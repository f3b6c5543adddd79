package notifyhttp

import (
	_ "embed" // the element
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/httpapi"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// Caller is an authorised caller and what they may see. The zero value sees nothing.
type Caller struct {
	// Scope is the tenant of the inboxes and campaigns. A request cannot name another.
	Scope notify.Scope
	// Inbox is the inbox that [Inbox] shows: "user:{id}" or "employee:{guid}".
	Inbox string
	// Allow is called by [Campaigns] for each campaign before any data of it is shown. Nil
	// allows none.
	Allow notify.AllowCampaign
}

// isZero reports whether the caller is unknown.
func (c Caller) isZero() bool { return c.Scope == "" && c.Inbox == "" && c.Allow == nil }

// Authorise says who is calling, from the host's session. An error refuses the request
// with 401; its text is not shown. It must be safe for concurrent use.
type Authorise func(r *http.Request) (Caller, error)

// maxBody is the limit of a request body in bytes.
const maxBody = 64 << 10

// Inbox serves the in-app messages of the caller (Communication - Codebase flow,
// "UserMessage (in-app)"):
//
//	GET  /           ?after=&limit=&archived=1   {"messages": [...], "next": "..."}
//	                 or snoozed=1
//	GET  /count                                  {"unseen": 2, "unread": 5}
//	POST /mark       {"as": "Read", "ids": [...]} or {"as": "Seen", "upTo": "..."}
//	                                             {"changed": 2}
//	POST /snooze     {"until": "2026-03-02T09:00:00Z", "ids": [...]}
//	                                             {"changed": 1}
//	GET  /inbox.js   the element <belfry-inbox>, for a page of the host's
//
// "as" is Seen, Read, Archived, or with "ids" also Unread or Unarchived. A page shows
// the inbox by
//
//	<script type="module" src="/inbox/inbox.js"></script>
//	<belfry-inbox src="/inbox/"></belfry-inbox>
//
// The element shows subjects and texts as plain text, never HTML, and only needs
// script-src 'self' and connect-src 'self'. Its texts are English; replace them by a
// child element: <script type="application/json">{"read": "Gelesen"}</script>. It
// dispatches an event "belfry-inbox" for each new count, with the count as its detail.
//
// Mount it with http.StripPrefix. A GET changes nothing. Changing requests from other
// origins are refused. It panics without a notifier or without who.
func Inbox(n *notify.Notifier, who Authorise) http.Handler {
	if n == nil || who == nil {
		panic("notifyhttp: Inbox needs a notifier and an Authorise")
	}
	s := inbox{n, who}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.owned(s.list))
	mux.HandleFunc("GET /count", s.owned(s.count))
	mux.HandleFunc("POST /mark", s.owned(s.mark))
	mux.HandleFunc("POST /snooze", s.owned(s.snooze))
	mux.HandleFunc("GET /inbox.js", script)
	return http.NewCrossOriginProtection().Handler(mux)
}

type inbox struct {
	n   *notify.Notifier
	who Authorise
}

// owned authorises the caller before anything else.
func (s inbox) owned(serve func(http.ResponseWriter, *http.Request, Caller)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		caller, err := s.who(r)
		if err != nil || caller.Inbox == "" {
			fail(w, http.StatusUnauthorized, "not signed in")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		w.Header().Set("Cache-Control", "no-store")
		serve(w, r, caller)
	}
}

func (s inbox) list(w http.ResponseWriter, r *http.Request, c Caller) {
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil || limit < 1 || limit > 100 {
		limit = 50
	}
	page := storage.Page{Limit: limit}
	if after := r.URL.Query().Get("after"); after != "" {
		page.After = c.Inbox + "\x1f" + after
	}
	of := s.n.Inbox(c.Scope, c.Inbox)
	read := of.Messages
	switch q := r.URL.Query(); {
	case q.Get("archived") != "":
		read = of.Archived
	case q.Get("snoozed") != "":
		read = of.Snoozed
	}
	rows, next, err := read(r.Context(), page)
	if err != nil {
		unavailable(w, err)
		return
	}
	out := listing{Messages: make([]message, len(rows)), Next: strings.TrimPrefix(next, c.Inbox+"\x1f")}
	for i, m := range rows {
		out.Messages[i] = messageOf(m)
	}
	httpapi.Reply(w, http.StatusOK, out)
}

func (s inbox) count(w http.ResponseWriter, r *http.Request, c Caller) {
	counts, err := s.n.Inbox(c.Scope, c.Inbox).Count(r.Context())
	if err != nil {
		unavailable(w, err)
		return
	}
	httpapi.Reply(w, http.StatusOK, counts)
}

// marks lists all marks; the first three also work with "upTo".
var marks = []notify.InboxMark{notify.MarkSeen, notify.MarkRead, notify.MarkArchived, notify.MarkUnread, notify.MarkUnarchived}

// order is the body of a POST to /mark.
type order struct {
	As   notify.InboxMark `json:"as"`
	IDs  []string         `json:"ids"`
	UpTo string           `json:"upTo"`
}

func (s inbox) mark(w http.ResponseWriter, r *http.Request, c Caller) {
	var want order
	if err := decode(r, &want); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	var changed int
	var err error
	switch {
	case !slices.Contains(marks, want.As) || want.UpTo != "" && !slices.Contains(marks[:3], want.As):
		fail(w, http.StatusUnprocessableEntity, `"as" must be Seen, Read or Archived, or with "ids" also Unread or Unarchived`)
		return
	case (want.UpTo == "") == (len(want.IDs) == 0):
		fail(w, http.StatusUnprocessableEntity, `give "ids" or "upTo"`)
		return
	case want.UpTo != "":
		changed, err = s.n.Inbox(c.Scope, c.Inbox).MarkUpTo(r.Context(), want.As, want.UpTo)
	default:
		changed, err = s.n.Inbox(c.Scope, c.Inbox).Mark(r.Context(), want.As, want.IDs...)
	}
	if err != nil {
		unavailable(w, err)
		return
	}
	httpapi.Reply(w, http.StatusOK, map[string]int{"changed": changed})
}

func (s inbox) snooze(w http.ResponseWriter, r *http.Request, c Caller) {
	var want struct {
		Until time.Time `json:"until"`
		IDs   []string  `json:"ids"`
	}
	if err := decode(r, &want); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	if len(want.IDs) == 0 || want.Until.IsZero() {
		fail(w, http.StatusUnprocessableEntity, `give "until" and "ids"`)
		return
	}
	changed, err := s.n.Inbox(c.Scope, c.Inbox).Snooze(r.Context(), want.Until, want.IDs...)
	switch {
	case errors.Is(err, notify.ErrSnooze):
		fail(w, http.StatusUnprocessableEntity, `"until" must be within a year from now`)
	case err != nil:
		unavailable(w, err)
	default:
		httpapi.Reply(w, http.StatusOK, map[string]int{"changed": changed})
	}
}

//go:embed inbox.js
var inboxScript []byte

// script serves the element, which contains no personal data.
func script(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "public, max-age=300")
	_, _ = w.Write(inboxScript) // the client is gone
}

// listing is a page of an inbox; Next goes into "after" of the next request.
type listing struct {
	Messages []message `json:"messages"`
	Next     string    `json:"next,omitempty"`
}

// message is the JSON of an in-app message. HTML comes from the host's own templates; a
// client that shows it must deal with scripts and pictures.
type message struct {
	ID      string    `json:"id"`
	Type    string    `json:"type"`
	Subject string    `json:"subject,omitempty"`
	Text    string    `json:"text,omitempty"`
	HTML    string    `json:"html,omitempty"`
	Locale  string    `json:"locale,omitempty"`
	Status  string    `json:"status"`
	On      time.Time `json:"on"`
	// SnoozedUntil is set if it was snoozed.
	SnoozedUntil time.Time `json:"snoozedUntil,omitzero"`
}

func messageOf(m notify.UserMessage) message {
	return message{
		ID: m.RowKey, Type: m.Type, Subject: m.Content.Subject, Text: m.Content.Text, HTML: m.Content.HTML,
		Locale: m.Content.Locale, Status: m.Status, On: m.SourceOn,
		SnoozedUntil: m.SnoozedUntil,
	}
}

// decode reads one JSON object without unknown members. Other media types are refused,
// since a form of another site could send them.
func decode(r *http.Request, into any) error {
	if httpapi.Media(r) != "application/json" {
		return errors.New("the body must be application/json")
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return errors.New("the body is not the JSON that this route takes")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the body must end after its JSON")
	}
	return nil
}

// fail writes an error with one member, which a browser's script shows as it is.
func fail(w http.ResponseWriter, status int, text string) {
	httpapi.Reply(w, status, map[string]string{"error": text})
}

// unavailable answers a failed call. Only an invalid key or page token is the caller's
// error.
func unavailable(w http.ResponseWriter, err error) {
	var part *keys.PartError
	switch {
	case errors.As(err, &part):
		fail(w, http.StatusUnprocessableEntity, "the message id is invalid")
		return
	case errors.Is(err, storage.ErrPage):
		fail(w, http.StatusUnprocessableEntity, `"after" must be the "next" of a page`)
		return
	}
	fail(w, http.StatusServiceUnavailable, "try again")
}
