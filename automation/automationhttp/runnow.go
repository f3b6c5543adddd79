package automationhttp

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// order is the body of run now.
type order struct {
	Reason string `json:"reason"` // for whoever reads the audit
	Manual string `json:"manualRunGuid,omitempty"`
}

// asked is the run that was asked for.
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
		problem{Status: http.StatusUnprocessableEntity, Title: err.Error()}.write(w)
		return
	}
	got, err := a.s.RunNow(r.Context(), c.Scope, guid, want.Manual, report.By{Actor: c.Actor, Reason: want.Reason})
	if err != nil {
		a.refuse(w, r, "a run that was asked for could not be made", err, problem{Manual: got.Run})
		return
	}
	out := asked{
		Manual: got.Run, ID: strings.TrimPrefix(got.Key, below(guid)), Key: got.Key,
		Outcome: string(got.Outcome), Status: got.Status, ScheduledOn: got.ScheduledOn.UTC(),
		IsOnSupportHold: got.IsOnSupportHold, HoldReason: string(got.HoldReason),
	}
	w.Header().Set("Location", "automation-runs/"+url.PathEscape(out.ID)) // relative: the host knows its prefix
	status := http.StatusOK
	if got.Outcome == storage.Created {
		status = http.StatusCreated
	}
	reply(w, status, out)
}

// complete gives the order the id of its run, if the caller has named one, and says
// what is wrong with it.
func (o *order) complete(header []string, actor string) error {
	switch {
	case o.Reason == "" || len(o.Reason) > 1000 || strings.ContainsFunc(o.Reason, unicode.IsControl):
		return errors.New("reason is not a text of 1 to 1000 bytes without control characters")
	case len(header) > 1 || len(header) == 1 && !isToken(header[0]):
		return errors.New("Idempotency-Key is not a text of 1 to 200 characters")
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
