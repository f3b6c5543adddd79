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

// Caller is an authorised caller and their permissions.
type Caller struct {
	// Scope is the tenant whose runs the caller sees. A request cannot name another.
	Scope automation.Scope
	// Read lets the caller see runs, Run start new ones. The zero value allows neither.
	Read, Run bool
	// Actor identifies the person or program in the audit, in at most 200 bytes. Run needs
	// it.
	Actor string
}

// Authorise says who is calling, from the request's credentials. An error refuses the
// request with 401; its text is not shown. r.PathValue("guid") is the subscription, for
// hosts whose callers may see only some of them; it is empty for requests about a whole
// scope. It must be safe for concurrent use.
type Authorise func(r *http.Request) (Caller, error)

// Options are the settings of [ReportRuns]. Nil and all zero values mean the defaults.
type Options struct {
	// Logger gets errors; default slog.Default().
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
// "scheduled:2026-03-02T09:00:00Z" or "manual:{manualRunGuid}". Lists take "limit" (1 to
// 200, default 50) and "after", which is the "next" of the previous page. Answers are
// JSON and must not be cached. Errors are application/problem+json, also for unknown
// addresses. Mount it as it is, or with http.StripPrefix.
//
// Run now takes application/json of at most 8 KiB. A repeated request with the same
// "manualRunGuid", or without one from the same caller with the same header
// Idempotency-Key, returns the run of the first one. The answer has the id, even a 503.
//
// Changing requests from other origins are refused. It panics without a service or
// without who.
func ReportRuns(s *report.Service, who Authorise, opts *Options) http.Handler {
	if s == nil || who == nil {
		panic("automationhttp: ReportRuns needs a service and an Authorise")
	}
	a := &api{s: s, who: who, logger: loglimit.Limited(nil)}
	if opts != nil && opts.Logger != nil {
		a.logger = loglimit.Limited(opts.Logger)
	}
	return httpapi.Guarded(a.router(), "requests from other sites are refused")
}

type api struct {
	s      *report.Service
	who    Authorise
	logger *slog.Logger
}

type handler = httpapi.Handler[Caller]

// known authorises the caller before anything else.
func (a *api) known(may func(Caller) bool, serve handler) http.HandlerFunc {
	return httpapi.Known(a.who, may, serve)
}

func mayRead(c Caller) bool { return c.Read }

func mayRun(c Caller) bool { return c.Run && c.Actor != "" }

func mayCall(Caller) bool { return true }

// route is one route of the API.
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

// router serves the routes, and refuses other addresses and methods.
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
		httpapi.Fail(w, http.StatusNotFound, "this address does not exist")
	}))
	return mux
}

func otherMethod(allowed []string) handler {
	allow := strings.Join(allowed, ", ")
	return func(w http.ResponseWriter, _ *http.Request, _ Caller) {
		w.Header().Set("Allow", allow)
		httpapi.Refuse(w, httpapi.Problem{Status: http.StatusMethodNotAllowed, Title: "this address does not take that method", Detail: "it takes " + allow})
	}
}

//go:embed openapi.json
var openAPI []byte

// OpenAPI is the description of [ReportRuns] in OpenAPI 3.1, as JSON. It names no
// server and no security scheme: both are the host's.
func OpenAPI() []byte { return bytes.Clone(openAPI) }
