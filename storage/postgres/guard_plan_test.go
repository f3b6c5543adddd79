package postgres

import (
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage/driver"
)

const (
	batch          = 500
	buffersPerRow  = 10
	unservedQuick  = 30_000
	unservedInFull = 300_000
)

// cheap fails the test if a claim of n rows scans a table or touches too much.
func (g *guarded) cheap(what string, s statement, n int) *plan {
	g.Helper()
	p := explained(g, g.DB(), s)
	if p.sequential() {
		g.Errorf("%s: scans %v", what, p.scans())
	}
	if int(p.Rows) != n {
		g.Errorf("%s: %v rows instead of %d", what, p.Rows, n)
	}
	if per := float64(p.buffers()) / float64(n); per > buffersPerRow {
		g.Errorf("%s: %.1f buffers a row", what, per)
	}
	g.Logf("%s: %.2f buffers a row, %v", what, float64(p.buffers())/float64(n), p.scans())
	return p
}

func TestGuardClaimTouchesFewBuffers(t *testing.T) {
	t.Parallel()
	small := newGuarded(t, emptyDSN(t))
	small.fill(10_000, "served", driver.LaneNormal, noon, "")
	few := small.cheap("a claim", small.claiming(small.claimOf(batch, driver.Cursor{})), batch)
	if !testlevel.Has(t, testlevel.Nightly) {
		return
	}
	large := newGuarded(t, emptyDSN(t))
	large.fill(1_000_000, "served", driver.LaneNormal, noon, "")
	many := large.cheap("a claim of a million", large.claiming(large.claimOf(batch, driver.Cursor{})), batch)
	if float64(many.buffers()) > 1.2*float64(few.buffers()) {
		t.Errorf("%d buffers at a million rows, %d at ten thousand", many.buffers(), few.buffers())
	}
}

func TestGuardTakeOverTouchesFewBuffers(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, emptyDSN(t))
	g.fill(sized(t, 10_000, 1_000_000), "served", driver.LaneNormal, noon,
		"status = 'Busy', claim_token = 'dead', lease_expires_on = due_on + interval '1 minute'")
	exec(t, g.DB(), "VACUUM FULL wide", "ANALYZE wide")
	g.cheap("a take-over", g.claiming(g.claimOf(batch, driver.Cursor{})), batch)
}

// Rows that nobody here serves lie in front of those that are.
func TestGuardUnservedRowsDoNotSlowAForwardClaim(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, emptyDSN(t))
	n := sized(t, unservedQuick, unservedInFull)
	g.fill(n, "unserved", driver.LaneNormal, noon, "")
	g.fill(10_000, "served", driver.LaneNormal, noon.AddDate(0, 1, 0), "")
	head := explained(t, g.DB(), g.claiming(g.claimOf(1, driver.Cursor{})))
	if head.buffers() < n/30 {
		t.Errorf("a claim from the start touched only %d buffers; this guard guards nothing", head.buffers())
	}
	first := g.mustClaim(t.Context(), g.claimOf(batch, driver.Cursor{}), batch)
	last := first[len(first)-1]
	g.cheap("a claim from the cursor", g.claiming(g.claimOf(batch, driver.Cursor{DueOn: last.DueOn, ID: last.ID})), batch)
}

// An urgent row is claimed with the next poll whatever waits in bulk.
func TestGuardBulkDoesNotSlowAnUrgentClaim(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, emptyDSN(t))
	g.fill(sized(t, 10_000, 1_000_000), "served", driver.LaneBulk, noon, "")
	g.fill(1, "served", driver.LaneUrgent, noon.AddDate(0, 1, 0), "")
	c := g.claimOf(0, driver.Cursor{})
	c.Lanes = []driver.LaneClaim{{Lane: driver.LaneUrgent, Limit: 100}, {Lane: driver.LaneNormal, Limit: 100}, {Lane: driver.LaneBulk, Limit: 99}}
	g.cheap("a claim of all lanes", g.claiming(c), 100)
	if rows := g.mustClaim(t.Context(), c, 100); rows[0].Lane != driver.LaneUrgent {
		t.Errorf("the urgent row is not among those claimed")
	}
}

// No statement of a pass reads a whole table, whatever the statistics say.
func TestGuardNoPassScansATable(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"all rows free":       "",
		"all rows held":       "status = 'Busy', lease_expires_on = '" + far.AddDate(1, 0, 0).Format("2006-01-02") + "'",
		"all rows ended":      "status = 'Done', due_on = NULL",
		"none due":            "due_on = due_on + interval '10 years'",
		"all due at one time": "due_on = '" + noon.Format("2006-01-02") + "'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGuarded(t, emptyDSN(t))
			g.fill(sized(t, 10_000, 1_000_000), "served", driver.LaneNormal, noon, change)
			for what, s := range g.pass() {
				if p := explained(t, g.DB(), s); p.sequential() {
					t.Errorf("%s scans %v", what, p.scans())
				}
			}
		})
	}
}

// A table that was just filled has no statistics.
func TestGuardNoPassScansANewTable(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, ownServer(t, &pgtest.Options{Settings: quiet}).Database(t))
	g.load(10_000, "served", driver.LaneNormal, noon)
	for what, s := range g.pass() {
		if p := explained(t, g.DB(), s); p.sequential() {
			t.Errorf("%s scans %v", what, p.scans())
		}
	}
}

// pass are the statements that a pass and its callers send, as many rows as
// they may have.
func (g *guarded) pass() map[string]statement {
	g.Helper()
	rows := make([]*wide, 2000)
	err := g.InTx(g.Context(), func(tx driver.Tx) (err error) {
		rows, err = wides.Find(g.Context(), tx, "", driver.Query{Limit: len(rows)})
		return err
	})
	if err != nil {
		g.Fatal(err)
	}
	except := g.claimOf(batch, driver.Cursor{})
	only := g.claimOf(batch, driver.Cursor{})
	only.Scopes = []driver.Scope{"one"}
	except.Except, except.ExceptKinds = []driver.Scope{"paused"}, []driver.ScopedKind{{Scope: "other", Kind: "paused"}}
	except.ExceptNames = driver.Names{Column: "key", Names: []string{"paused"}}
	one := func(prefix string, f func(tx driver.Tx) error) statement {
		g.Helper()
		return g.during(g, prefix, func() {
			err := g.InTx(g.Context(), func(tx driver.Tx) error {
				if err := f(tx); err != nil && !errors.Is(err, driver.ErrStale) {
					return err
				}
				return errTakeBack
			})
			wantErr(g, err, errTakeBack)
		})[0]
	}
	ctx := g.Context()
	return map[string]statement{
		"claim":                g.claiming(g.claimOf(batch, driver.Cursor{})),
		"claim from a cursor":  g.claiming(g.claimOf(batch, driver.Cursor{DueOn: noon, ID: 1})),
		"claim without scopes": g.claiming(except),
		"claim of a scope":     g.claiming(only),
		"next": g.during(g, "SELECT", func() {
			if _, err := g.Next(ctx, &wides.Schema, g.claimOf(0, driver.Cursor{}), far); err != nil {
				g.Error(err)
			}
		})[0],
		"get": one("SELECT", func(tx driver.Tx) error {
			places := []driver.ScopedKey{{Scope: "elsewhere", Key: "a"}}
			for _, r := range rows {
				places = append(places, wides.ScopedKeyOf(r))
			}
			found, err := wides.GetMany(ctx, tx, places)
			if len(found) != len(rows) {
				g.Errorf("%d rows, not %d", len(found), len(rows))
			}
			return err
		}),
		"save":   one("UPDATE", func(tx driver.Tx) error { return wides.Save(ctx, tx, rows...) }),
		"delete": one("DELETE", func(tx driver.Tx) error { return wides.Delete(ctx, tx, rows...) }),
		"extend": one("UPDATE", func(tx driver.Tx) error {
			_, err := wides.Extend(ctx, tx, far, rows...)
			return err
		}),
	}
}

func unchanged(_, _ *wide) (driver.Outcome, bool) { return driver.Unchanged, false }

// plan is a node of what EXPLAIN (ANALYZE, BUFFERS, WAL, FORMAT JSON) says.
type plan struct {
	Type     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Rows     float64 `json:"Actual Rows"`
	Hit      int     `json:"Shared Hit Blocks"`
	Read     int     `json:"Shared Read Blocks"`
	Plans    []*plan `json:"Plans"`
}

// buffers is how many pages the statement touched.
func (p *plan) buffers() int { return p.Hit + p.Read }

// scans are the types of the nodes that read a table.
func (p *plan) scans() (types []string) {
	if p.Relation != "" && p.Type != "ModifyTable" {
		types = append(types, p.Type)
	}
	for _, child := range p.Plans {
		types = append(types, child.scans()...)
	}
	return types
}

func (p *plan) sequential() bool { return slices.Contains(p.scans(), "Seq Scan") }

// explained runs a statement and takes back what it did.
func explained(t testing.TB, db *sql.DB, s statement) *plan {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	var text string
	row := tx.QueryRowContext(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+s.text, s.args...)
	if err := row.Scan(&text); err != nil {
		t.Fatal(s.text, err)
	}
	var plans []struct{ Plan *plan }
	if err := json.Unmarshal([]byte(text), &plans); err != nil {
		t.Fatal(err)
	}
	return plans[0].Plan
}

// For each version of a row PostgreSQL compares the columns of all indexes, their
// predicates included, to see whether it can be a HOT update. What lies behind texts
// has to be counted to, so indexed columns come before texts that are not.
func TestIndexedColumnsOfClaimedTablesComeFirst(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, emptyDSN(t))
	rows, err := g.DB().QueryContext(t.Context(), `
		WITH claimed AS (
			SELECT c.oid AS t FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE c.relkind = 'r' AND n.nspname = current_schema() AND c.relname <> 'wide'
				AND c.reloptions @> '{fillfactor=50,autovacuum_vacuum_cost_delay=0}'
		), indexed AS (
			SELECT DISTINCT c.t, d.refobjsubid AS place FROM claimed c
			JOIN pg_index i ON i.indrelid = c.t
			LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid
			JOIN pg_depend d ON d.objid IN (i.indexrelid, k.oid) AND d.refobjid = c.t AND d.refobjsubid > 0
		)
		SELECT c.t::regclass || '.' || a.attname FROM claimed c
		JOIN pg_attribute a ON a.attrelid = c.t AND a.attnum > 0
		JOIN indexed x ON x.t = c.t AND x.place = a.attnum
		WHERE EXISTS (
			SELECT 1 FROM pg_attribute b WHERE b.attrelid = c.t AND b.attnum BETWEEN 1 AND a.attnum - 1 AND b.attlen < 0
				AND NOT EXISTS (SELECT 1 FROM indexed y WHERE y.t = c.t AND y.place = b.attnum)
		)
		ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var behind []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		behind = append(behind, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if len(behind) > 0 {
		t.Errorf("indexed columns behind texts that are not: %s", strings.Join(behind, ", "))
	}
}
