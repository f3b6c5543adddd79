package automationhttp

import (
	"log/slog"
	"net/http"

	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/storage"
)

// ReportRuns serves the runs of report subscriptions:
//
//	GET  /report-subscriptions/automation-runs                           recent runs, of all subscriptions
//	GET  /report-subscriptions/automation-runs/failed                    runs that wait for a person
//	GET  /report-subscriptions/{guid}/automation-runs                    runs of a subscription
//	POST /report-subscriptions/{guid}/automation-runs                    run now: {"reason": "..."}
//	GET  /report-subscriptions/{guid}/automation-runs/{run}              one run and its history
//	GET  /report-subscriptions/{guid}/automation-runs/{run}/ownership    which scheduler delivers it
//	GET  /report-subscriptions/{guid}/automation-runs/{run}/delivery     its coordinates and messages
//
// {run} is what follows the subscription in the scheduler key, such as
// "scheduled:2026-03-02T09:00:00Z" or "manual:{manualRunGuid}". Lists take "limit" (1
// to 200, default 50) and "after", which is the "next" of the page before. Answers
// are JSON and not to be stored; a refusal is application/problem+json, also for an
// address that is none. Mount it as it is, or with http.StripPrefix.
//
// Run now takes application/json of at most 8 KiB. A request that is repeated with
// its "manualRunGuid", or without one by the same caller with the same header
// Idempotency-Key, finds the run of the first one; the answer names the id, also
// where it is a 503.
//
// Requests of other origins that would change something are refused. It panics
// without a service or without who.
func ReportRuns(s *report.Service, who Authorise, opts *Options) http.Handler {
	if s == nil || who == nil {
		panic("automationhttp: ReportRuns needs a service and an Authorise")
	}
	a := &api{s: s, who: who, logger: slog.Default()}
	if opts != nil && opts.Logger != nil {
		a.logger = opts.Logger
	}
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		problem{Status: http.StatusForbidden, Title: "not from another site"}.write(w)
	}))
	return guarded(guard.Handler(a.router()))
}

type api struct {
	s      *report.Service
	who    Authorise
	logger *slog.Logger
}

// guarded sets what every answer has.
func guarded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		h.ServeHTTP(w, r)
	})
}

type handler func(http.ResponseWriter, *http.Request, Caller)

// known asks who is calling before anything else. A host that names no tenant, or
// nobody who could be asked why, lets nobody do anything.
func (a *api) known(may func(Caller) bool, serve handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		caller, err := a.who(r)
		switch {
		case err != nil:
			problem{Status: http.StatusUnauthorized, Title: "not signed in"}.write(w)
		case !may(caller) || caller.Scope == storage.AnyScope:
			problem{Status: http.StatusForbidden, Title: "not allowed"}.write(w)
		default:
			serve(w, r, caller)
		}
	}
}

func mayRead(c Caller) bool { return c.Read }

func mayRun(c Caller) bool { return c.Run && c.Actor != "" }

func mayCall(Caller) bool { return true }
