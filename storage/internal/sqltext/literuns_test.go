package sqltext

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage/driver"
)

var runIndex = regexp.MustCompile(`(?s)CREATE INDEX \{index:(automation_scheduler_\w+)\} ON \{automation_scheduler\} (.*?);`)

// The lists of runs of reports, and of what is planned for a person, walk the partial indexes that are made for them,
// although SQLite sees only at the call that a parameter is what their predicate says.
func TestSQLiteListsRunsByPartialIndexes(t *testing.T) {
	t.Parallel()
	db, err := sqlx.Open("sqlite3", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	table := schedulerTable(t, db)
	is := func(more ...driver.Cond) []driver.Cond {
		return append([]driver.Cond{driver.Eq("automation_type", automation.TypeReportSubscription), driver.NotNull("scheduled_on")}, more...)
	}
	lists := map[string]struct {
		index string
		where []driver.Cond
	}{
		"failed":              {"INDEX automation_scheduler_failed (scope=?", is(driver.Eq("is_on_support_hold", true))},
		"recent":              {"INDEX automation_scheduler_recent (scope=? AND scheduled_on", is()},
		"of one subscription": {"INDEX automation_scheduler_runs (scope=? AND source=? AND scheduled_on", is(driver.Eq("source", "7"))},
		"of a person":         {"INDEX automation_scheduler_person (scope=? AND person=? AND scheduled_on", []driver.Cond{driver.Eq("person", "7"), driver.NotNull("scheduled_on")}},
		"planned for a person": {"INDEX automation_scheduler_person (scope=? AND person=? AND scheduled_on", []driver.Cond{
			driver.Eq("person", "7"), driver.NotNull("scheduled_on"), driver.Any(driver.NotNull("due_on"), driver.Eq("is_on_support_hold", true)),
		}},
	}
	check := func(when string) {
		for name, list := range lists {
			s, _, err := table.Select(driver.Within("tenant"), driver.Query{
				Where: list.where, OrderBy: "scheduled_on", Desc: true, After: &driver.Position{Value: time.Unix(1000, 0), ID: 7}, Limit: 100,
			})
			if err != nil {
				t.Fatal(err)
			}
			plan := explain(t, db, s)
			if !strings.Contains(plan, list.index) || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("%s %s does not walk %s:\n%s", name, when, list.index, plan)
			}
		}
	}
	check("without statistics")
	fillScheduler(db)
	db.MustExec("ANALYZE")
	check("with statistics")
}

// fillScheduler adds runs of reports, few of which failed, and reminders.
func fillScheduler(db *sqlx.DB) {
	var columns []struct{ Name, Type string }
	if err := db.Select(&columns, `SELECT name, type FROM pragma_table_info('automation_scheduler') WHERE name <> 'id' AND "notnull"`); err != nil {
		panic(err)
	}
	names, values := []string{"scheduled_on", "ended_on"}, []string{"i", "i"}
	special := map[string]string{
		"key": "i", "scope": "'tenant'", "automation_type": "iif(i % 4, 'ReportSubscription', 'Reminder')",
		"source": "i % 50", "is_on_support_hold": "i % 200 = 1",
	}
	for _, c := range columns {
		value, ok := special[c.Name]
		if !ok {
			value = map[string]string{"TEXT": "''", "INTEGER": "0"}[c.Type]
		}
		names, values = append(names, c.Name), append(values, value)
	}
	db.MustExec("INSERT INTO automation_scheduler (" + strings.Join(names, ", ") + ") " +
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000) SELECT " + strings.Join(values, ", ") + " FROM n")
}

// schedulerTable makes automation_scheduler with the indexes that a host has.
func schedulerTable(t *testing.T, db *sqlx.DB) *SQLiteTable {
	t.Helper()
	for _, schema := range automation.Schemas() {
		if schema.Name != "automation_scheduler" {
			continue
		}
		for _, text := range (Names{Dialect: SQLite}).CreateTable(schema) {
			db.MustExec(text)
		}
		text, err := os.ReadFile("../../sqlite/migrations/0003_automation.sql")
		if err != nil {
			t.Fatal(err)
		}
		for _, index := range runIndex.FindAllStringSubmatch(string(text), -1) {
			if index[1] != "automation_scheduler_due" { // it is there already
				db.MustExec("CREATE INDEX " + index[1] + " ON automation_scheduler " + index[2])
			}
		}
		return NewSQLiteTable(Names{Dialect: SQLite}, schema)
	}
	t.Fatal("no table automation_scheduler")
	return nil
}
