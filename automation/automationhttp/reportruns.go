package automationhttp

import (
	"bytes"
	_ "embed" // openapi.json
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/internal/httpapi"
	"github.com/belfry-go/belfry/internal/loglimit"
)

// Caller is somebody whom the host has let in, and what they may do.
type Caller struct {
	// Scope is whose runs they are. Nothing in a request can name another.
	Scope automation.Scope
	// Read lets the caller see runs, Run ask for new ones. The zero value allows
	// neither.
	Read, Run bool
	// Actor is who asks for a run, for the audit: a person or program that can be
	// found again, in at most 200 bytes. Run needs it.
	Actor string
}

// Authorise says who is calling, from the request's credentials. An error refuses
// the request with 401; its text is not shown. r.PathValue("guid") is the
// subscription, for hosts whose callers may see some of them only; it is empty where
// the request is about all of a scope. It is called from several goroutines.
type Authorise func(r *http.Request) (Caller, error)

// Options are the settings of [ReportRuns]; nil and every zero value are useful.
type Options struct {
	// Logger gets what failed; default slog.Default().
	Logger *slog.Logger
}

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
	a := &api{s: s, who: who, logger: loglimit.Limited(nil)}
	if opts != nil && opts.Logger != nil {
		a.logger = loglimit.Limited(opts.Logger)
	}
	return httpapi.Guarded(a.router(), "not from another site")
}

type api struct {
	s      *report.Service
	who    Authorise
	logger *slog.Logger
}

type handler = httpapi.Handler[Caller]

// known asks who is calling before anything else.
func (a *api) known(may func(Caller) bool, serve handler) http.HandlerFunc {
	return httpapi.Known(a.who, may, serve)
}

func mayRead(c Caller) bool { return c.Read }

func mayRun(c Caller) bool { return c.Run && c.Actor != "" }

func mayCall(Caller) bool { return true }

// route is one thing that can be asked for.
type route struct {
	method, path string
	may          func(Caller) bool
	serve        handler
}

func (a *api) routes() []route {
	const all, one = "/report-subscriptions/automation-runs", "/report-subscriptions/{guid}/automation-runs"
	return []route{
		{http.MethodGet, all, mayRead, a.recent},
		{http.MethodGet, all + "/failed", mayRead, a.failed},
		{http.MethodGet, one, mayRead, a.list},
		{http.MethodPost, one, mayRun, a.runNow},
		{http.MethodGet, one + "/{run}", mayRead, a.detail},
		{http.MethodGet, one + "/{run}/ownership", mayRead, a.ownership},
		{http.MethodGet, one + "/{run}/delivery", mayRead, a.delivery},
	}
}

// router serves the routes, and answers for all other addresses and methods.
func (a *api) router() http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, r := range a.routes() {
		mux.HandleFunc(r.method+" "+r.path, a.known(r.may, r.serve))
		methods[r.path] = append(methods[r.path], r.method)
	}
	for _, path := range slices.Sorted(maps.Keys(methods)) {
		mux.HandleFunc(path, a.known(mayCall, otherMethod(methods[path])))
	}
	mux.HandleFunc("/", a.known(mayCall, func(w http.ResponseWriter, _ *http.Request, _ Caller) {
		httpapi.Fail(w, http.StatusNotFound, "there is nothing here")
	}))
	return mux
}

func otherMethod(allowed []string) handler {
	allow := strings.Join(allowed, ", ")
	return func(w http.ResponseWriter, _ *http.Request, _ Caller) {
		w.Header().Set("Allow", allow)
		httpapi.Refuse(w, httpapi.Problem{Status: http.StatusMethodNotAllowed, Title: "not with this method", Detail: "it takes " + allow})
	}
}

//go:embed openapi.json
var openAPI []byte

// OpenAPI is the description of [ReportRuns] in OpenAPI 3.1, as JSON. It names no
// server and no security scheme: both are the host's.
func OpenAPI() []byte { return bytes.Clone(openAPI) }
