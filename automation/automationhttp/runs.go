package automationhttp

import (
	"net/http"

	"github.com/belfry-go/belfry/automation/report"
)

// runPage is a page of runs; Next goes into "after" of the next request.
type runPage struct {
	Runs []run  `json:"runs"`
	Next string `json:"next,omitempty"`
}

func (a *api) list(w http.ResponseWriter, r *http.Request, c Caller) {
	a.page(w, r, func(p report.Page) ([]report.RunState, string, error) {
		return a.s.Runs(r.Context(), c.Scope, r.PathValue("guid"), p)
	})
}

func (a *api) recent(w http.ResponseWriter, r *http.Request, c Caller) {
	a.page(w, r, func(p report.Page) ([]report.RunState, string, error) {
		return a.s.RecentRuns(r.Context(), c.Scope, p)
	})
}

func (a *api) failed(w http.ResponseWriter, r *http.Request, c Caller) {
	a.page(w, r, func(p report.Page) ([]report.RunState, string, error) {
		return a.s.FailedRuns(r.Context(), c.Scope, p)
	})
}

func (a *api) page(w http.ResponseWriter, r *http.Request, list func(report.Page) ([]report.RunState, string, error)) {
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
	reply(w, http.StatusOK, out)
}
