package sqlstore

import (
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"
	_ "github.com/mattn/go-sqlite3" // the driver

	"github.com/belfry-go/belfry/storage/driver"
)

// Polls walk the due index and touch nothing else of a table, with statistics or
// without, and nothing is looked up by reading all rows.
func TestSQLiteNeverScansATable(t *testing.T) {
	t.Parallel()
	db, err := sqlx.Open("sqlite3", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	names := naming{Dialect: SQLite}
	for _, text := range names.createTable(&jobs.Schema) {
		db.MustExec(text)
	}
	table := SQLite.table(names, &jobs.Schema).(*sqliteTable)
	c := &driver.Claim{
		Statuses: []string{"Ready"}, Kinds: []string{"a"}, Scopes: []driver.Scope{"a"}, Except: []driver.Scope{"b"},
		ExceptKinds: []driver.ScopedKind{{Scope: "c", Kind: "a"}},
		ExceptNames: driver.Names{Column: "key", Names: []string{"k"}},
		Lanes:       []driver.LaneClaim{{Lane: -1, Limit: 1}, {Lane: 0, Limit: 1}, {Lane: 1, Limit: 1}},
	}
	due, _ := table.dueText(c.Lanes[0], c)
	update := table.changeText(changeUpdate, nil)
	sel := func(where ...driver.Cond) statement {
		s, _, err := table.selectText(driver.Within("north"), driver.Query{Where: where, Unordered: true, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	get := func(places ...driver.ScopedKey) statement {
		s, _, err := table.getText(places, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	db.MustExec(`CREATE INDEX job_held ON job (note, id) WHERE due_on IS NOT NULL OR abandoned`)
	statements := map[string]struct {
		statement
		index string
	}{
		"claim":  {due, "INDEX job_due (lane=? AND due_on"},
		"hold":   {table.holdText(c, []int64{1}), "PRIMARY KEY"},
		"next":   {table.next(c), "INDEX job_due (lane=? AND due_on"},
		"update": {statement{update.text, make([]any, len(update.columns))}, "PRIMARY KEY"},
		"keys":   {sel(driver.In("key", []string{"a", "b"})), "(scope=? AND key=?)"},
		"places": {get(driver.ScopedKey{Scope: "a", Key: "b"}, driver.ScopedKey{Scope: "b", Key: "a"}), "(scope=? AND key=?)"},
		// the predicate of a partial index, repeated
		"held": {sel(driver.Eq("note", "a"), driver.Any(driver.NotNull("due_on"), driver.Eq("abandoned", true))), "INDEX job_held (note=?"},
	}
	check := func(when string) {
		for name, s := range statements {
			plan := explain(t, db, s.statement)
			if strings.Contains(plan, "SCAN t\n") || strings.Contains(plan, "SCAN job") || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("%s %s reads or sorts all rows:\n%s", name, when, plan)
			}
			if !strings.Contains(plan, s.index) {
				t.Errorf("%s %s does not use %s:\n%s", name, when, s.index, plan)
			}
		}
	}
	check("without statistics")
	// A campaign: all rows of one lane and one moment.
	db.MustExec(`INSERT INTO job (scope, key, kind, status, version, lane, due_on, claim_token, abandoned, note)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
		SELECT '', i, 'a', 'Ready', 1, 0, 7, '', 0, i FROM n`)
	db.MustExec("ANALYZE")
	check("with statistics")
}

func explain(t *testing.T, db *sqlx.DB, s statement) string {
	t.Helper()
	var steps []struct {
		ID, Parent, NotUsed int
		Detail              string
	}
	if err := db.Select(&steps, "EXPLAIN QUERY PLAN "+s.text, s.args...); err != nil {
		t.Fatal(s.text, err)
	}
	var plan strings.Builder
	for _, step := range steps {
		plan.WriteString(step.Detail + "\n")
	}
	return plan.String()
}
