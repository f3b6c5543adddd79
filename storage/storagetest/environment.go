package storagetest

import (
	"testing"

	"github.com/belfry-go/belfry/storage"
)

var environmentTheme = theme{
	name:    "environment",
	options: func(testing.TB) Options { return Options{Environment: "production"} },
	sentences: []sentence{
		{"a database keeps the first environment that it is given", func(w *world) {
			for range 2 {
				w.identity(w.store, "production", "production", false)
			}
			if w.h.NoSecondHandle == "" {
				w.identity(w.in.Second(w.T, "staging"), "production", "staging", true)
				w.identity(w.in.Second(w.T, ""), "production", "", false)
				w.identity(w.in.Second(w.T, "production"), "production", "production", false)
			}
		}},
		{"a database without an environment takes the next that is given", func(w *world) {
			in := w.h.open(w.T, Options{})
			w.identity(in.Store, "", "", false)
			if w.h.NoSecondHandle == "" {
				w.identity(in.Second(w.T, "production"), "production", "production", false)
				w.identity(in.Store, "production", "", false)
			}
		}},
	},
}

func (w *world) identity(store storage.Store, environment, given string, copied bool) {
	w.Helper()
	id, err := store.Identity(w.ctx)
	w.is("Identity", err, nil)
	w.same("environment", id.Environment, environment)
	w.same("given", id.Given, given)
	w.same("system", id.System, id.Present)
	w.same("copied", id.Copied(), copied)
}
