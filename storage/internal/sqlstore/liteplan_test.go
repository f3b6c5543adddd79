package sqlstore

import (
	"database/sql"
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
	for _, text := range CreateTableSQL(SQLite, &jobs.Schema) {
		db.MustExec(text)
	}
	table := newTable(SQLite, `"job"`, &jobs.Schema)
	c := &driver.Claim{
		Statuses: []string{"Ready"}, Types: []string{"a"}, Except: []driver.Scope{"b"},
		ExceptTypes: []driver.ScopedType{{Scope: "c", Type: "a"}},
		ExceptKinds: driver.Kinds{Column: "key", Names: []string{"k"}},
		Lanes:       []driver.LaneClaim{{Lane: -1, Limit: 1}, {Lane: 0, Limit: 1}, {Lane: 1, Limit: 1}},
	}
	next, nextArgs := SQLite.verbs.next(table, c)
	keys := newBuilder(table, "SELECT "+table.columns+" FROM "+table.name+" WHERE ")
	if err := keys.where(driver.Within("north"), []driver.Cond{driver.In("key", []string{"a", "b"})}); err != nil {
		t.Fatal(err)
	}
	db.MustExec(`CREATE INDEX job_held ON job (note, id) WHERE due_on IS NOT NULL OR abandoned`)
	held := newBuilder(table, "SELECT "+table.columns+" FROM "+table.name+" WHERE ")
	err = held.where(driver.Within("north"), []driver.Cond{
		driver.Eq("note", "a"), driver.Any(driver.NotNull("due_on"), driver.Eq("abandoned", true)),
	})
	if err != nil {
		t.Fatal(err)
	}
	statements := map[string]struct {
		text, index string
		args        []any
	}{
		"claim":  {table.lane(shapeOf(c)), "INDEX job_due (lane=? AND due_on", table.laneArgs(nil, c.Lanes[0], c, 1)},
		"hold":   {table.hold, "PRIMARY KEY", append(table.setArgs(c), "[1]")},
		"next":   {next, "INDEX job_due (lane=? AND due_on", nextArgs},
		"update": {table.update.text, "PRIMARY KEY", make([]any, len(table.update.columns))},
		"keys":   {keys.sql(), "(scope=? AND key=?)", keys.args},
		"held":   {held.sql(), "INDEX job_held (note=?", held.args}, // the predicate of a partial index, repeated
	}
	check := func(when string) {
		for name, s := range statements {
			plan := explain(t, db, s.text, s.args)
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
	db.MustExec(`INSERT INTO job (scope, key, type, status, version, lane, due_on, claim_token, abandoned, note)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
		SELECT '', i, 'a', 'Ready', 1, 0, 7, '', 0, i FROM n`)
	db.MustExec("ANALYZE")
	check("with statistics")
}

func explain(t *testing.T, db *sqlx.DB, text string, args []any) string {
	t.Helper()
	var plan strings.Builder
	err := query(t.Context(), db, "EXPLAIN QUERY PLAN "+text, args, func(r *sql.Rows) error {
		for r.Next() {
			var id, parent, unused int
			var detail string
			if err := r.Scan(&id, &parent, &unused, &detail); err != nil {
				return err
			}
			plan.WriteString(detail + "\n")
		}
		return nil
	})
	if err != nil {
		t.Fatal(text, err)
	}
	return plan.String()
}
