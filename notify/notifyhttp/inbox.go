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

// Caller is somebody whom the host has let in, and what they may see. The zero value
// sees nothing.
type Caller struct {
	// Scope is whose inboxes and campaigns they are. Nothing in a request can name
	// another.
	Scope notify.Scope
	// Inbox is the one that [Inbox] shows: "user:{id}" or "employee:{guid}".
	Inbox string
	// Allow is asked by [Campaigns] about each campaign before anything of it is
	// shown, its progress included. Nil allows none.
	Allow notify.AllowCampaign
}

// isZero reports whether nothing says who it is.
func (c Caller) isZero() bool { return c.Scope == "" && c.Inbox == "" && c.Allow == nil }

// Authorise says who is calling, from the host's session. An error refuses the
// request with 401; its text is not shown. It is called from several goroutines.
type Authorise func(r *http.Request) (Caller, error)

// maxBody bounds what a client may send.
const maxBody = 64 << 10

// Inbox serves the in-app messages of whoever calls (Communication - Codebase
// flow, "UserMessage (in-app)"):
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
// The element shows subjects and texts as text, never HTML, and needs no more than
// script-src 'self' and connect-src 'self'. Its texts are English, but for those that
// it holds: <script type="application/json">{"read": "Gelesen"}</script>. It tells the
// page of each new count by an event "belfry-inbox", with the count as its detail.
//
// Mount it with http.StripPrefix. A GET changes nothing. Requests of other
// origins that would change something are refused. It panics without a notifier
// or without who.
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

// owned asks who is calling before anything else.
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

// marks are those that there are; the first three can be made up to a message.
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
		fail(w, http.StatusUnprocessableEntity, `"as" is Seen, Read or Archived, or with "ids" Unread or Unarchived`)
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
		fail(w, http.StatusUnprocessableEntity, `"until" is more than a year from now`)
	case err != nil:
		unavailable(w, err)
	default:
		httpapi.Reply(w, http.StatusOK, map[string]int{"changed": changed})
	}
}

//go:embed inbox.js
var inboxScript []byte

// script serves the element, which holds nothing of anybody.
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

// message is an in-app message as a client sees it. HTML was made by the host's
// own templates; a client that shows it decides about scripts and pictures.
type message struct {
	ID      string    `json:"id"`
	Type    string    `json:"type"`
	Subject string    `json:"subject,omitempty"`
	Text    string    `json:"text,omitempty"`
	HTML    string    `json:"html,omitempty"`
	Locale  string    `json:"locale,omitempty"`
	Status  string    `json:"status"`
	On      time.Time `json:"on"`
	// SnoozedUntil is there if it was put off.
	SnoozedUntil time.Time `json:"snoozedUntil,omitzero"`
}

func messageOf(m notify.UserMessage) message {
	return message{
		ID: m.RowKey, Type: m.Type, Subject: m.Content.Subject, Text: m.Content.Text, HTML: m.Content.HTML,
		Locale: m.Content.Locale, Status: m.Status, On: m.SourceOn,
		SnoozedUntil: m.SnoozedUntil,
	}
}

// decode reads one JSON object without unknown members. Another media type is
// refused, since a form of another site could send it.
func decode(r *http.Request, into any) error {
	if httpapi.Media(r) != "application/json" {
		return errors.New("the body is not application/json")
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return errors.New("the body is not the JSON that is expected here")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the body goes on after its JSON")
	}
	return nil
}

// fail refuses in one member, since a browser's script shows it as it is.
func fail(w http.ResponseWriter, status int, text string) {
	httpapi.Reply(w, status, map[string]string{"error": text})
}

// unavailable answers a call that failed. Only a key or a place in a list that cannot be
// one is the caller's own fault.
func unavailable(w http.ResponseWriter, err error) {
	var part *keys.PartError
	switch {
	case errors.As(err, &part):
		fail(w, http.StatusUnprocessableEntity, "there can be no such message")
		return
	case errors.Is(err, storage.ErrPage):
		fail(w, http.StatusUnprocessableEntity, `"after" is not the "next" of a page`)
		return
	}
	fail(w, http.StatusServiceUnavailable, "try again")
}
