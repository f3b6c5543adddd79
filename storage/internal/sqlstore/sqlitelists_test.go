package sqlstore

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey"
)

var inMigrations = regexp.MustCompile(`\{(?:index:)?(\w+)\}`)

// migrated is an empty database with the tables and indexes that a host has.
func migrated(t *testing.T) *sqlx.DB {
	t.Helper()
	db, err := sqlx.Open("sqlite3", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	files, err := filepath.Glob("../../sqlite/migrations/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal("no migrations", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		db.MustExec(inMigrations.ReplaceAllString(string(text), `"$1"`))
	}
	return db
}

// tableOf is how SQLite reads a table of a domain.
func tableOf(t *testing.T, name string) *sqliteTable {
	t.Helper()
	all := slices.Concat(notify.Schemas(), automation.Schemas(), survey.Schemas())
	i := slices.IndexFunc(all, func(s *driver.Schema) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no table %s", name)
	}
	return SQLite.table(naming{Dialect: SQLite}, all[i]).(*sqliteTable)
}

// fill loads n rows, of which i is the number; what is not given and must have a value
// has an empty one.
func fill(t *testing.T, db *sqlx.DB, table string, n int, given map[string]string) {
	t.Helper()
	var columns []struct{ Name, Type string }
	if err := db.Select(&columns, `SELECT name, type FROM pragma_table_info(?) WHERE name <> 'id' AND "notnull"`, table); err != nil {
		t.Fatal(err)
	}
	for _, c := range columns {
		if given[c.Name] == "" {
			given[c.Name] = map[string]string{"TEXT": "''", "INTEGER": "0"}[c.Type]
		}
	}
	var names, values []string
	for name, value := range given {
		names, values = append(names, name), append(values, value)
	}
	db.MustExec(fmt.Sprintf("INSERT INTO %s (%s) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT %s FROM n",
		table, strings.Join(names, ", "), n, strings.Join(values, ", ")))
}

// Lists are read from where they begin in an index of their own, and nothing is sorted:
// what an outage has left, over all tenants; runs of reports; what is planned for a
// person; a page of the responses to a survey. SQLite sees only at the call that a
// parameter is what the predicate of a partial index says.
func TestSQLiteReadsListsByTheirIndexes(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	before, after := &driver.Position{Value: time.Unix(1000, 0), ID: 7}, &driver.Position{Value: noon, ID: 7}
	where := func(conds ...driver.Cond) []driver.Cond { return conds }
	mails := driver.Eq("kind", "email:out")
	runs := []driver.Cond{driver.Eq("automation_type", automation.TypeReportSubscription), driver.NotNull("scheduled_on")}
	person := []driver.Cond{driver.Eq("person", "7"), driver.NotNull("scheduled_on")}
	ofSurvey := driver.Eq("survey_id", int64(1))
	lists := map[string]struct {
		table, index, orderBy string
		after                 *driver.Position
		where                 []driver.Cond
	}{
		"what has failed": {"outgoing_message", "outgoing_message_failed (kind=? AND", "failed_on", before, where(driver.NotNull("failed_on"), mails)},
		"how doubts ended": {"outgoing_message", "outgoing_message_resolved (kind=?", "resolved_on", nil,
			where(driver.NotNull("resolved_on"), mails, driver.Eq("is_on_support_hold", false))},
		"what is on hold": {"outgoing_message", "outgoing_message_holds (hold_reason=?", "", &driver.Position{ID: 7},
			where(driver.Eq("is_on_support_hold", true), driver.Eq("hold_reason", reasons.RetriesExhausted), mails)},
		"what is on hold in a tenant": {"automation_scheduler", "automation_scheduler_scope_holds (scope=? AND hold_reason=?", "", &driver.Position{ID: 7},
			where(driver.Eq("is_on_support_hold", true), driver.Eq("hold_reason", reasons.HeldBySupport))},
		"failed runs":         {"automation_scheduler", "automation_scheduler_failed (scope=?", "scheduled_on", before, append(where(driver.Eq("is_on_support_hold", true)), runs...)},
		"recent runs":         {"automation_scheduler", "automation_scheduler_recent (scope=? AND scheduled_on", "scheduled_on", before, runs},
		"of one subscription": {"automation_scheduler", "automation_scheduler_runs (scope=? AND source=? AND scheduled_on", "scheduled_on", before, append(where(driver.Eq("source", "7")), runs...)},
		"withheld on a day": {"automation_scheduler", "automation_scheduler_withheld (scope=? AND scheduled_on>? AND scheduled_on<?)", "scheduled_on", before,
			where(driver.NotNull("ended_on"), driver.Greater("reason_code", ""), driver.AtLeast("scheduled_on", noon), driver.Less("scheduled_on", noon.Add(24*time.Hour)))},
		"of a person": {"automation_scheduler", "automation_scheduler_person (scope=? AND person=? AND scheduled_on", "scheduled_on", before, person},
		"planned for a person": {"automation_scheduler", "automation_scheduler_person (scope=? AND person=? AND scheduled_on", "scheduled_on", before,
			append(where(driver.Any(driver.NotNull("due_on"), driver.Eq("is_on_support_hold", true))), person...)},
		"responses": {"survey_response", "survey_response_survey (scope=? AND survey_id=?", "submitted_on", nil, where(ofSurvey, driver.NotNull("submitted_on"))},
		"responses until": {"survey_response", "survey_response_survey (scope=? AND survey_id=? AND submitted_on>? AND submitted_on<?", "submitted_on", nil,
			where(ofSurvey, driver.Less("submitted_on", noon), driver.NotNull("submitted_on"))},
		"responses since": {"survey_response", "survey_response_survey (scope=? AND survey_id=? AND submitted_on>?", "submitted_on", nil, where(ofSurvey, driver.AtLeast("submitted_on", noon))},
		"the next":        {"survey_response", "survey_response_survey (scope=? AND survey_id=? AND submitted_on>?", "submitted_on", after, where(ofSurvey)},
		"the next, until": {"survey_response", "survey_response_survey (scope=? AND survey_id=? AND submitted_on>? AND submitted_on<?", "submitted_on", after,
			where(ofSurvey, driver.Less("submitted_on", noon))},
	}
	check := func(when string) {
		for name, list := range lists {
			reach := driver.Within("tenant")
			if list.table == "outgoing_message" {
				reach = driver.Everywhere()
			}
			s, _, err := tableOf(t, list.table).selectText(reach, driver.Query{
				Where: list.where, OrderBy: list.orderBy, Desc: list.after == before, After: list.after, Limit: 100,
			})
			if err != nil {
				t.Fatal(err)
			}
			if plan := explain(t, db, s); !strings.Contains(plan, "INDEX "+list.index) || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("%s %s does not walk %s:\n%s", name, when, list.index, plan)
			}
		}
	}
	check("without statistics")
	fill(t, db, "automation_scheduler", 4000, map[string]string{ // few runs failed
		"key": "i", "scope": "'tenant'", "automation_type": "iif(i % 4, 'ReportSubscription', 'Reminder')", "source": "i % 50",
		"is_on_support_hold": "i % 200 = 1", "scheduled_on": "i", "ended_on": "i",
	})
	fill(t, db, "survey_response", 2000, map[string]string{"key": "i", "scope": "'tenant'", "survey_id": "1", "survey_version": "1", "submitted_on": "i", "score": "101"})
	db.MustExec("ANALYZE")
	check("with statistics")
}
