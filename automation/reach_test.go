package automation_test

import (
	"errors"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
)

// A host may take the tenant from an address. Whatever that says, it is one
// tenant or none, and never all of them.
func TestI28_NoScopeReachesTheReminderOfAnotherTenant(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		w := newWorld(t, store, clk, nil)
		w.s.Register(certificates(nil))
		w.ensure(candidate(func(c *automation.Candidate) { c.Scope = "north" }))
		before := w.rowIn("north", certificateKey)
		support := w.s.Support()
		for _, scope := range []automation.Scope{"\x00any", "north\x00", "\xff"} {
			for what, err := range map[string]error{
				"Hold":    support.Hold(w.ctx, scope, certificateKey, ann),
				"Release": support.Release(w.ctx, scope, certificateKey, ann),
				"Retry":   support.Retry(w.ctx, scope, certificateKey, ann),
				"Rerun":   second(support.Rerun(w.ctx, scope, certificateKey, ann)),
				"Cancel":  support.Cancel(w.ctx, scope, certificateKey, ann),
				"Trace":   second(support.Trace(w.ctx, scope, certificateKey)),
				"Explain": second(w.s.Explain(w.ctx, scope, certificateKey)),
				"Health":  second(w.s.Health(w.ctx, "north", scope)),
			} {
				refused := (*storage.ValueError)(nil)
				if !errors.As(err, &refused) || refused.Column != "scope" {
					w.t.Errorf("%s in %q: %v", what, scope, err)
				}
			}
		}
		if diff := cmp.Diff(before, w.rowIn("north", certificateKey)); diff != "" {
			w.t.Error(diff)
		}
	})
}
