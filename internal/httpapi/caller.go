package httpapi

import "net/http"

// Handler serves an authorised caller.
type Handler[C any] func(w http.ResponseWriter, r *http.Request, caller C)

// Known authorises the caller before anything else. An error of who is 401 and is not
// shown; a caller without the permission gets 403.
func Known[C any](who func(*http.Request) (C, error), may func(C) bool, serve Handler[C]) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		caller, err := who(r)
		switch {
		case err != nil:
			Fail(w, http.StatusUnauthorized, "not signed in")
		case !may(caller):
			Fail(w, http.StatusForbidden, "not allowed")
		default:
			serve(w, r, caller)
		}
	}
}

// Guarded keeps answers out of caches, and refuses requests of another origin that
// would change something, with 403 and denied as the title.
func Guarded(h http.Handler, denied string) http.Handler {
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		Fail(w, http.StatusForbidden, denied)
	}))
	guarded := guard.Handler(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		guarded.ServeHTTP(w, r)
	})
}
