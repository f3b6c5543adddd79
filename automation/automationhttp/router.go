package automationhttp

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

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
		problem{Status: http.StatusNotFound, Title: "there is nothing here"}.write(w)
	}))
	return mux
}

func otherMethod(allowed []string) handler {
	allow := strings.Join(allowed, ", ")
	return func(w http.ResponseWriter, _ *http.Request, _ Caller) {
		w.Header().Set("Allow", allow)
		problem{Status: http.StatusMethodNotAllowed, Title: "not with this method", Detail: "it takes " + allow}.write(w)
	}
}
