package automationhttp

import (
	"log/slog"
	"net/http"

	"github.com/belfry-go/belfry/automation"
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
