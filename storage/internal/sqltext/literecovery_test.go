package sqltext

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage/driver"
)

var messageIndex = regexp.MustCompile(`(?s)CREATE INDEX \{index:(outgoing_message_\w+)\} ON \{outgoing_message\} (.*?);`)

// A recovery after an outage walks the partial indexes of what has failed and of what
// is on hold, over all tenants.
func TestSQLiteRecoversByPartialIndexes(t *testing.T) {
	t.Parallel()
	db, err := sqlx.Open("sqlite3", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	table := messageTable(t, db)
	channel := driver.Eq("kind", "email:out")
	recoveries := map[string]struct {
		index string
		driver.Query
	}{
		"what has failed": {"INDEX outgoing_message_failed (kind=? AND", driver.Query{
			Where: []driver.Cond{driver.NotNull("failed_on"), channel}, OrderBy: "failed_on", Desc: true,
			After: &driver.Position{Value: time.Unix(1000, 0), ID: 7}, Limit: 100,
		}},
		"what is on hold": {"INDEX outgoing_message_holds (hold_reason=?", driver.Query{
			Where: []driver.Cond{driver.Eq("is_on_support_hold", true), driver.Eq("hold_reason", notify.HoldRetries), channel},
			After: &driver.Position{ID: 7}, Limit: 100,
		}},
	}
	for name, r := range recoveries {
		s, _, err := table.Select(driver.Everywhere(), r.Query)
		if err != nil {
			t.Fatal(err)
		}
		if plan := explain(t, db, s); !strings.Contains(plan, r.index) || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s does not walk %s:\n%s", name, r.index, plan)
		}
	}
}

// messageTable makes outgoing_message with the indexes that a host has.
func messageTable(t *testing.T, db *sqlx.DB) *SQLiteTable {
	t.Helper()
	for _, schema := range notify.Schemas() {
		if schema.Name != "outgoing_message" {
			continue
		}
		for _, text := range (Names{Dialect: SQLite}).CreateTable(schema) {
			db.MustExec(text)
		}
		text, err := os.ReadFile("../../sqlite/migrations/0002_notify.sql")
		if err != nil {
			t.Fatal(err)
		}
		for _, index := range messageIndex.FindAllStringSubmatch(string(text), -1) {
			if index[1] != "outgoing_message_due" { // it is there already
				db.MustExec("CREATE INDEX " + index[1] + " ON outgoing_message " + index[2])
			}
		}
		return NewSQLiteTable(Names{Dialect: SQLite}, schema)
	}
	t.Fatal("no table outgoing_message")
	return nil
}
