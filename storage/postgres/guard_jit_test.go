package postgres

import (
	"testing"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage/driver"
)

// compiling is a server that compiles what it can, and logs each plan.
var compiling = map[string]string{
	"jit": "on", "jit_above_cost": "0", "session_preload_libraries": "auto_explain",
	"auto_explain.log_min_duration": "0", "auto_explain.log_level": "log",
}

// A claim of three milliseconds was compiled for 119 to 165: its estimated cost grows
// with the table, since the planner takes a tenth of the rows for a limit it does not
// know.
func TestGuardNoStatementIsCompiled(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, ownServer(t, &pgtest.Options{Settings: compiling}).Database(t))
	g.fill(10_000, "served", driver.LaneNormal, noon, "")
	var calls int
	if !scan[bool](t, g.DB(), "SELECT pg_jit_available()") {
		testlevel.Lacks(t, "the server here cannot compile statements (Debian: postgresql-15 has LLVM)")
	}
	compiled := func(what string, f func()) {
		plans, before := len(logged(t, g.DB(), "Query Text:")), len(logged(t, g.DB(), "JIT:"))
		f()
		calls += len(logged(t, g.DB(), "Query Text:")) - plans
		if n := len(logged(t, g.DB(), "JIT:")) - before; n > 0 {
			t.Errorf("%s: %d plans were compiled", what, n)
		}
	}
	compiled("a pass", func() {
		if err := g.InTx(t.Context(), func(tx driver.Tx) error {
			rows, err := wides.Claim(t.Context(), tx, g.claimOf(batch, driver.Cursor{}))
			if err != nil || len(rows) != batch {
				t.Errorf("%d rows claimed: %v", len(rows), err)
			}
			if _, err := wides.Extend(t.Context(), tx, far, rows...); err != nil {
				return err
			}
			if err := wides.Save(t.Context(), tx, rows...); err != nil {
				return err
			}
			if _, err := wides.Ensure(t.Context(), tx, unchanged, rows...); err != nil {
				return err
			}
			return wides.Delete(t.Context(), tx, rows...)
		}); err != nil {
			t.Error(err)
		}
	})
	compiled("a view", func() {
		if err := g.View(t.Context(), func(from driver.Reader) error {
			if _, err := wides.Count(t.Context(), from, "", 10_000); err != nil {
				return err
			}
			_, err := wides.CountBy(t.Context(), from, "", driver.CountBy{By: []string{"status"}, OrderBy: "id", Limit: 10_000})
			return err
		}); err != nil {
			t.Error(err)
		}
	})
	if calls < 7 {
		t.Errorf("the log has %d plans; this guard guards nothing", calls)
	}
}
