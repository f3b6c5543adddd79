package notifyhttp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/belfry-go/belfry/internal/httpapi"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// Campaigns shows campaigns to callers that the host allows:
//
//	GET /{guid}            {"status": "Ready", "recipients": 100000, "done": 4000, ...}
//	GET /{guid}/audience   one recipient in each line, as JSON
//
// A campaign that the caller may not see is not found. It is read-only. Mount it with
// http.StripPrefix. It panics without a notifier or without who.
func Campaigns(n *notify.Notifier, who Authorise) http.Handler {
	if n == nil || who == nil {
		panic("notifyhttp: Campaigns needs a notifier and an Authorise")
	}
	s := campaigns{n, who}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{guid}", s.progress)
	mux.HandleFunc("GET /{guid}/audience", s.audience)
	return mux
}

type campaigns struct {
	n   *notify.Notifier
	who Authorise
}

// open returns the content, or writes the answer and returns nothing.
func (s campaigns) open(w http.ResponseWriter, r *http.Request) *notify.CampaignContent {
	caller, err := s.who(r)
	if err != nil || caller.Allow == nil {
		fail(w, http.StatusUnauthorized, "not signed in")
		return nil
	}
	w.Header().Set("Cache-Control", "no-store")
	var refused error
	c, err := s.n.Campaigns().Content(r.Context(), caller.Scope, r.PathValue("guid"), func(ctx context.Context, p notify.CampaignProgress) error {
		refused = caller.Allow(ctx, p)
		return refused
	})
	switch {
	case refused != nil || errors.Is(err, storage.ErrNotFound):
		fail(w, http.StatusNotFound, "this campaign does not exist")
	case err != nil:
		unavailable(w, err)
	default:
		return c
	}
	return nil
}

// progress is the JSON of a campaign.
type progress struct {
	Status     string         `json:"status"`
	Reason     string         `json:"reason,omitempty"`
	Recipients int            `json:"recipients,omitempty"`
	Done       int            `json:"done"`
	Generated  int            `json:"generated"`
	Skipped    int            `json:"skipped"`
	Repeated   int            `json:"repeated"`
	Cancelled  int            `json:"cancelled"`
	PerSecond  float64        `json:"perSecond,omitempty"`
	Left       float64        `json:"secondsLeft,omitempty"`
	Messages   map[string]int `json:"messages"`
	Sampled    bool           `json:"sampled,omitempty"`
	StartedOn  time.Time      `json:"startedOn,omitzero"`
	EndedOn    time.Time      `json:"endedOn,omitzero"`
}

func (s campaigns) progress(w http.ResponseWriter, r *http.Request) {
	c := s.open(w, r)
	if c == nil {
		return
	}
	p, err := s.n.Campaigns().Progress(r.Context(), c.Campaign.Scope, c.Campaign.GUID)
	if err != nil {
		unavailable(w, err)
		return
	}
	httpapi.Reply(w, http.StatusOK, progress{
		Status: p.Status, Reason: p.Reason, Recipients: p.Recipients, Done: p.Done, Generated: p.Generated,
		Skipped: p.Skipped, Repeated: p.Repeated, Cancelled: p.Cancelled, PerSecond: p.PerSecond, Left: p.Left.Seconds(),
		Messages: p.Messages, Sampled: p.Sampled, StartedOn: p.StartedOn, EndedOn: p.EndedOn,
	})
}

// audience streams the recipients. An error in the middle closes the connection, so that
// a client does not take a part for the whole.
func (s campaigns) audience(w http.ResponseWriter, r *http.Request) {
	c := s.open(w, r)
	if c == nil {
		return
	}
	w.Header().Set("Content-Type", "application/jsonl")
	lines := json.NewEncoder(w)
	for to, err := range c.Recipients(r.Context()) {
		if err != nil || lines.Encode(to) != nil {
			panic(http.ErrAbortHandler)
		}
	}
}
