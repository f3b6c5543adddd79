package sqlstore

import (
	"encoding/json"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// SQLite is the dialect of SQLite 3.51.3 and later.
var SQLite = &Dialect{
	begin:    "BEGIN IMMEDIATE",
	view:     "BEGIN",
	maxName:  1000,
	ddl:      sqliteDDL,
	syntax:   sqlite{},
	detached: true,
}

var sqliteDDL = ddl{
	kinds: [6]string{
		driver.Text: "TEXT", driver.Int: "INTEGER", driver.Bool: "INTEGER",
		driver.Instant: "INTEGER", driver.JSON: "TEXT", driver.Bytes: "BLOB",
	},
	live: [6][]string{
		driver.Text: {"TEXT"}, driver.Int: {"INTEGER"}, driver.Bool: {"INTEGER"},
		driver.Instant: {"INTEGER"}, driver.JSON: {"TEXT"}, driver.Bytes: {"BLOB"},
	},
	lane:   "INTEGER",
	id:     "INTEGER PRIMARY KEY AUTOINCREMENT", // else the id of a deleted row is given again
	strict: "STRICT",
	table:  "STRICT",
}

// sqlite is the syntax of SQLite.
type sqlite struct{}

func (sqlite) in(column string, _ driver.ColumnType) string {
	return column + " IN (SELECT value FROM json_each(?))"
}

func (sqlite) scoped(column string) string {
	return `(t."scope", t.` + quote(column) + `) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))`
}

func (sqlite) pairs(all []driver.ScopedKind) any {
	pairs := make([][2]string, len(all))
	for i, p := range all {
		pairs[i] = [2]string{string(p.Scope), p.Kind}
	}
	return asJSON(pairs)
}

func (sqlite) at(table, columns string, places []driver.ScopedKey) (text string, args []any) {
	pairs := make([][2]string, len(places))
	for i, p := range places {
		pairs[i] = [2]string{string(p.Scope), p.Key}
	}
	return "SELECT " + columns + " FROM " + table + ` WHERE ("scope", "key") IN` +
		" (SELECT value ->> 0, value ->> 1 FROM json_each(?))", []any{asJSON(pairs)}
}

func (sqlite) under(table string, places []driver.ScopedKey) (head, tail string, args []any) {
	spans := make([][3]string, len(places))
	for i, p := range places {
		from, to := driver.ChildKeys(p.Key)
		spans[i] = [3]string{string(p.Scope), from, to}
	}
	return "SELECT p.key FROM json_each(?) AS p WHERE EXISTS (SELECT 1 FROM " + table +
		` AS t WHERE t."scope" = p.value ->> 0 AND t."key" > p.value ->> 1 AND t."key" < p.value ->> 2 AND `, ")", []any{asJSON(spans)}
}

// asJSON is a list of strings or numbers, or of lists of strings.
func asJSON(v any) string {
	text, _ := json.Marshal(v) // those always marshal
	return string(text)
}

func (sqlite) value(v any) any {
	switch v := v.(type) {
	case []string, []int64:
		return asJSON(v)
	case time.Time:
		if v.IsZero() {
			return nil
		}
		return v.UnixMicro()
	}
	return v
}

// A writing transaction is alone from its beginning, so there is nothing to lock.

func (sqlite) setUp(naming) []string { return nil }

func (sqlite) lockHistory(string) []string { return nil }

func (sqlite) lockTimeout() []string { return nil }

func (sqlite) exists() string {
	return "SELECT count(*) > 0 FROM sqlite_master WHERE type = 'table' AND name = ?"
}

func (sqlite) columns() string {
	return `SELECT name, type, "notnull" OR pk, dflt_value IS NOT NULL OR pk, '' FROM pragma_table_info(?)`
}

func (sqlite) indexes() string {
	return `SELECT l.name, l."unique", COALESCE(m.sql, ''), COALESCE((
	SELECT group_concat(x.name, ',') FROM pragma_index_xinfo(l.name) AS x WHERE x.key AND x.name IS NOT NULL), '')
FROM pragma_index_list(?) AS l LEFT JOIN sqlite_master AS m ON m.type = 'index' AND m.name = l.name ORDER BY l.name`
}
