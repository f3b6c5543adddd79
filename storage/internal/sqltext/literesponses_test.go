package sqltext

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey"
)

// responseTable is the table of responses as it is migrated.
func responseTable(t *testing.T) (*sqlx.DB, *SQLiteTable) {
	t.Helper()
	db, err := sqlx.Open("sqlite3", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	migration, err := os.ReadFile("../../sqlite/migrations/0004_survey.sql")
	if err != nil {
		t.Fatal(err)
	}
	db.MustExec(regexp.MustCompile(`\{(?:index:)?(\w+)\}`).ReplaceAllString(string(migration), `"$1"`))
	all := survey.Schemas()
	i := slices.IndexFunc(all, func(s *driver.Schema) bool { return s.Name == "survey_response" })
	return db, NewSQLiteTable(Names{Dialect: SQLite}, all[i])
}

// SQLite reads a page of the responses to a survey from where it begins in their
// index, and sorts nothing.
func TestSQLiteReadsAPageOfResponsesFromItsBeginning(t *testing.T) {
	t.Parallel()
	db, table := responseTable(t)
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	after := &driver.Position{Value: noon, ID: 7}
	check := func(when string) {
		for name, c := range map[string]struct {
			bound []driver.Cond
			after *driver.Position
			index string
		}{
			"the first":       {bound: []driver.Cond{driver.NotNull("submitted_on")}},
			"until":           {bound: []driver.Cond{driver.Less("submitted_on", noon), driver.NotNull("submitted_on")}, index: " AND submitted_on>? AND submitted_on<?"},
			"since":           {bound: []driver.Cond{driver.AtLeast("submitted_on", noon)}, index: " AND submitted_on>?"},
			"the next":        {after: after, index: " AND submitted_on>?"},
			"the next, until": {bound: []driver.Cond{driver.Less("submitted_on", noon)}, after: after, index: " AND submitted_on>? AND submitted_on<?"},
		} {
			where := append([]driver.Cond{driver.Eq("survey_id", int64(1))}, c.bound...)
			s, _, err := table.Select(driver.Within("north"), driver.Query{OrderBy: "submitted_on", Where: where, After: c.after, Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			plan := explain(t, db, s)
			if !strings.Contains(plan, "survey_response_survey (scope=? AND survey_id=?"+c.index) || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("%s %s:\n%s", name, when, plan)
			}
		}
	}
	check("without statistics")
	db.MustExec(`INSERT INTO survey_response (scope, key, kind, status, version, lane, claim_token, abandoned, survey_id, survey_version,
			trigger_id, business_unit, customer_ref, agent_id, answers_hash, idempotency_key, locale, answers, submitted_on, score, handled_by, note, fact)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
		SELECT 'north', i, '', '', 1, 0, '', 0, 1, 1, '', '', '', '', '', '', '', '{}', i, 101, '', '', 'null' FROM n`)
	db.MustExec("ANALYZE")
	check("with statistics")
}
