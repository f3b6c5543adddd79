package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// stamped is a row with a fingerprint.
type stamped struct {
	driver.Due
	Name  string `db:"name"`
	Print int64  `db:"print,fixed"`
}

var stampeds = driver.Define[stamped]("stamped").Deciding("name").Fingerprint("print")

// newStamped is a store with n rows of which the fingerprint is the number.
func newStamped(t *testing.T, n int) *guarded {
	t.Helper()
	g := newGuarded(t, emptyDSN(t))
	if err := sqlstore.CreateTable(t.Context(), g.Store.Store, &stampeds.Schema); err != nil {
		t.Fatal(err)
	}
	exec(t, g.DB(), fmt.Sprintf(`INSERT INTO stamped (scope, key, kind, status, version, lane, claim_token, abandoned, name, print)
		SELECT '', lpad(g::text, 60, '0'), '', '', 1, 0, '', false, '', g FROM generate_series(1, %d) AS g`, n))
	return g
}

// untouched asks about rows from, from+step, and so on, n of them.
func (g *guarded) untouched(from, step, n int) (prints []int64, s statement) {
	g.Helper()
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("%060d", from+i*step)
	}
	seen := g.during(g, "SELECT array_agg", func() {
		err := g.InTx(g.Context(), func(tx driver.Tx) (err error) {
			prints, err = tx.(driver.Recognizer).Untouched(g.Context(), &stampeds.Schema, "", keys)
			return err
		})
		if err != nil {
			g.Fatal(err)
		}
	})
	return prints, seen[0]
}

// Somebody with a database's own tools does not raise the version.
func TestARowWrittenByHandIsNotKnown(t *testing.T) {
	t.Parallel()
	g := newStamped(t, 4)
	exec(t, g.DB(), "UPDATE stamped SET name = 'by hand' WHERE print = 2")
	for _, tidied := range []string{"ANALYZE stamped", "VACUUM FREEZE stamped", "VACUUM FULL stamped"} {
		exec(t, g.DB(), tidied)
		prints, _ := g.untouched(1, 1, 4)
		if diff := cmp.Diff([]int64{1, 3, 4}, prints); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", tidied, diff)
		}
	}
}

func TestTheCheckMissesTheColumnOfTheInserter(t *testing.T) {
	t.Parallel()
	g := newStamped(t, 0)
	if err := g.CheckTables(t.Context(), &stampeds.Schema); err != nil {
		t.Error(err)
	}
	for _, change := range []string{"ALTER inserted_by DROP DEFAULT", "ALTER inserted_by DROP NOT NULL", "DROP inserted_by"} {
		exec(t, g.DB(), "ALTER TABLE stamped "+change)
		if err := g.CheckTables(t.Context(), &stampeds.Schema); err == nil || !strings.Contains(err.Error(), "no column inserted_by") {
			t.Errorf("after %s: %v", change, err)
		}
	}
}

// However far apart the keys lie, and whatever the statistics say, no more rows
// are walked than a few for each key.
func TestGuardKnownRowsAreWalkedAlongTheirKeys(t *testing.T) {
	t.Parallel()
	g := newStamped(t, sized(t, 20_000, 1_000_000))
	for _, statistics := range []string{"", "VACUUM (ANALYZE) stamped"} {
		if statistics != "" {
			exec(t, g.DB(), statistics)
		}
		for _, c := range []struct{ step, known, buffers int }{
			{1, batch, 2}, {stretched, batch, 2 * stretched}, {40, batch * stretched / 40, 2 * stretched},
		} {
			prints, s := g.untouched(1, c.step, batch)
			p := explained(t, g.DB(), s)
			if p.sequential() {
				t.Errorf("step %d, %q: scans %v", c.step, statistics, p.scans())
			}
			if p.buffers() > c.buffers*batch {
				t.Errorf("step %d, %q: %d buffers for %d keys", c.step, statistics, p.buffers(), batch)
			}
			known := 0
			for _, print := range prints {
				if (int(print)-1)%c.step == 0 {
					known++
				}
			}
			if known != c.known {
				t.Errorf("step %d, %q: %d known instead of %d", c.step, statistics, known, c.known)
			}
		}
	}
}

const stretched = 4 // as many rows are walked for each key
