package automationhttp

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/internal/httpapi"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// run is a run as support sees it. ID identifies it within its subscription.
type run struct {
	ID              string    `json:"run"`
	Key             string    `json:"schedulerKey"`
	Subscription    string    `json:"reportSubscriptionGuid"`
	Manual          string    `json:"manualRunGuid,omitempty"`
	Type            string    `json:"type"`
	ScheduledOn     time.Time `json:"scheduledOn"`
	LocalDate       string    `json:"localDate,omitempty"`
	LocalTime       string    `json:"localTime,omitempty"`
	Zone            string    `json:"zone,omitempty"`
	Status          string    `json:"status"`
	Reason          string    `json:"reasonCode,omitempty"`
	EndedOn         time.Time `json:"endedOn,omitzero"`
	Failures        int       `json:"failures"`
	NextRetryOn     time.Time `json:"nextRetryOn,omitzero"`
	Diagnostics     string    `json:"diagnostics,omitempty"`
	IsOnSupportHold bool      `json:"isOnSupportHold"`
	HoldReason      string    `json:"holdReasonCode,omitempty"`
	HoldDetail      string    `json:"holdDetail,omitempty"`
	Summary         string    `json:"summary,omitempty"`
}

func runOf(s report.RunState) run {
	return run{
		ID: strings.TrimPrefix(s.Key, below(s.Subscription)), Key: s.Key, Subscription: s.Subscription, Manual: s.Manual, Type: s.Type,
		ScheduledOn: s.ScheduledOn.UTC(), LocalDate: s.LocalDate, LocalTime: s.LocalTime, Zone: s.Zone,
		Status: s.Status, Reason: string(s.Reason), EndedOn: s.EndedOn.UTC(),
		Failures: s.Failures, NextRetryOn: s.NextRetryOn.UTC(), Diagnostics: s.Diagnostics,
		IsOnSupportHold: s.IsOnSupportHold, HoldReason: s.HoldReason, HoldDetail: s.HoldDetail,
		Summary: s.Delivery.Summary,
	}
}

// below is the prefix of the keys of a subscription's runs.
func below(guid string) string { return "report-subscription:" + guid + ":" }

// keyOf reads the key of a run in an address. ok is false if it is invalid, or belongs to
// a subscription that the caller was not authorised for.
func keyOf(guid, id string) (key string, ok bool) {
	key = below(guid) + id
	parsed, err := keys.Parse(key)
	if err != nil {
		return "", false
	}
	switch k := parsed.(type) {
	case keys.ReportRun:
		return key, k.Subscription == guid
	case keys.ManualReportRun:
		return key, k.Subscription == guid
	}
	return "", false
}

// runPage is a page of runs; Next goes into "after" of the next request.
type runPage struct {
	Runs []run  `json:"runs"`
	Next string `json:"next,omitempty"`
}

func (a *api) list(w http.ResponseWriter, r *http.Request, c Caller) {
	a.page(w, r, func(p storage.Page) ([]report.RunState, string, error) {
		return a.s.Runs(r.Context(), c.Scope, r.PathValue("guid"), p)
	})
}

func (a *api) recent(w http.ResponseWriter, r *http.Request, c Caller) {
	a.page(w, r, func(p storage.Page) ([]report.RunState, string, error) {
		return a.s.RecentRuns(r.Context(), c.Scope, p)
	})
}

func (a *api) failed(w http.ResponseWriter, r *http.Request, c Caller) {
	a.page(w, r, func(p storage.Page) ([]report.RunState, string, error) {
		return a.s.FailedRuns(r.Context(), c.Scope, p)
	})
}

func (a *api) page(w http.ResponseWriter, r *http.Request, list func(storage.Page) ([]report.RunState, string, error)) {
	p, ok := page(w, r)
	if !ok {
		return
	}
	runs, next, err := list(p)
	if err != nil {
		a.refuse(w, r, "runs of reports could not be listed", err, problem{})
		return
	}
	out := runPage{Runs: make([]run, len(runs)), Next: next}
	for i, state := range runs {
		out.Runs[i] = runOf(state)
	}
	httpapi.Reply(w, http.StatusOK, out)
}

// order is the body of run now.
type order struct {
	Reason string `json:"reason"` // for the audit
	Manual string `json:"manualRunGuid,omitempty"`
}

// asked is the answer to a run-now request.
type asked struct {
	Manual          string    `json:"manualRunGuid"`
	ID              string    `json:"run"`
	Key             string    `json:"schedulerKey"`
	Outcome         string    `json:"outcome"`
	Status          string    `json:"status"`
	ScheduledOn     time.Time `json:"scheduledOn"`
	IsOnSupportHold bool      `json:"isOnSupportHold"`
	HoldReason      string    `json:"holdReasonCode,omitempty"`
}

func (a *api) runNow(w http.ResponseWriter, r *http.Request, c Caller) {
	var want order
	if !readBody(w, r, &want) {
		return
	}
	guid := r.PathValue("guid")
	err := want.complete(r.Header.Values("Idempotency-Key"), c.Actor)
	if err != nil {
		httpapi.Fail(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	got, err := a.s.RunNow(r.Context(), c.Scope, guid, want.Manual, report.By{Actor: c.Actor, Reason: want.Reason})
	if err != nil {
		a.refuse(w, r, "a requested run could not be made", err, problem{Manual: got.Run})
		return
	}
	out := asked{
		Manual: got.Run, ID: strings.TrimPrefix(got.Key, below(guid)), Key: got.Key,
		Outcome: string(got.Outcome), Status: got.Status, ScheduledOn: got.ScheduledOn.UTC(),
		IsOnSupportHold: got.IsOnSupportHold, HoldReason: got.HoldReason,
	}
	w.Header().Set("Location", "automation-runs/"+url.PathEscape(out.ID)) // relative: the host knows its prefix
	status := http.StatusOK
	if got.Outcome == storage.Created {
		status = http.StatusCreated
	}
	httpapi.Reply(w, status, out)
}

// complete sets the order's run id, if the caller has named one, and checks the order.
func (o *order) complete(header []string, actor string) error {
	switch {
	case o.Reason == "" || len(o.Reason) > 1000 || strings.ContainsFunc(o.Reason, unicode.IsControl):
		return errors.New("reason must be a text of 1 to 1000 bytes without control characters")
	case len(header) > 1 || len(header) == 1 && !isToken(header[0]):
		return errors.New("Idempotency-Key must be a text of 1 to 200 characters")
	case o.Manual == "" && len(header) == 1:
		o.Manual = idempotent(actor, header[0])
	}
	if o.Manual == "" {
		return nil
	}
	var part *keys.PartError
	if _, err := (keys.ManualReportRun{Subscription: "any", Run: o.Manual}).Key(); errors.As(err, &part) {
		return errors.New("manualRunGuid " + part.Problem)
	}
	return nil
}
