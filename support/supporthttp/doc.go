// Package supporthttp serves package support over HTTP: a console for people, and an API
// in JSON. The host authorises every request. It works under any path, and without
// JavaScript.
//
//	mux.Handle("/support/", supporthttp.New(desk, supporthttp.Options{Authorise: who}))
//
// The console has /, /search, /messages, /messages.csv, /unhappy, /message, /mail, /story, /needs, /list, /calendar, /act and /reasons, and under /pages/ what [Options].Pages has. The API is under
// /api/v1/, and /openapi.json says what it takes and gives. Nothing changes by GET. A refusal of the API is a problem as in RFC 9457. Without the
// right to see personal data all of it is left out in the server, and keys are sealed:
// they lead to their rows, and say nothing.
package supporthttp

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/loglimit"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
)

// Caller is who is calling, and what they may. The zero value has no permissions.
type Caller struct {
	// Actor identifies the person or program in the audit. It is required for actions.
	Actor string
	// Scope is the tenant whose rows they see.
	Scope storage.Scope
	// Read lets them see stories and lists, without personal data.
	Read bool
	// Act are the actions that they may take: SendTo and Erase with Personal alone.
	Act []support.Action
	// Personal lets them see names, addresses, keys and what was written.
	Personal bool
	// Everywhere lets them name another tenant (?tenant=), and act for all.
	Everywhere bool
	// Zone is where they read the clock, for the times and days of pages; nil: UTC. The API
	// answers in UTC.
	Zone *time.Location
}

// allowed reports whether they may take an action. What names an address, or a person, takes
// the right to see personal data as well.
func (c Caller) allowed(a support.Action) bool {
	return slices.Contains(c.Act, a) && (c.Personal || a != support.SendTo && a != support.Erase)
}

// Options are the settings of [New]. Authorise is required.
type Options struct {
	// Authorise says who is calling, or returns an error, which is answered with 401 and
	// not shown.
	Authorise func(*http.Request) (Caller, error)
	// Key seals what is searched for, addresses and places in lists, and for callers who may
	// not see personal data all keys: 32 random bytes, the same in every process. Empty: one
	// of the process's own, so that such links lead nowhere after it, or in another.
	Key []byte
	// Note is shown on top of every page, such as "production".
	Note string
	// Pages are handlers of other packages, or the host's own, such as results of surveys
	// and previews of templates: "results" is found at pages/results/, and in the navigation. Each
	// gets its paths from there on, has headers of its own, and asks itself who is calling;
	// who may not read is not let through to it.
	Pages map[string]http.Handler
	// Logger gets what failed on our side, without keys; default slog.Default().
	Logger *slog.Logger
}

// New serves the desk. It panics without a desk, without Authorise, on a Key of another
// length than 32 bytes, and on a name in Pages that is not a part of a path.
func New(d *support.Desk, o Options) http.Handler {
	if d == nil || o.Authorise == nil {
		panic("supporthttp: New needs a desk and Authorise")
	}
	if len(o.Key) == 0 {
		o.Key = make([]byte, 32)
		_, _ = rand.Read(o.Key) // never fails
	}
	for name := range o.Pages {
		if name == "" || url.PathEscape(name) != name {
			panic("supporthttp: a key of Options.Pages must be one part of a path: " + name)
		}
	}
	o.Logger = loglimit.Limited(o.Logger)
	s := &site{desk: d, o: o, seal: newSealer(o.Key)}
	return s.handler()
}
