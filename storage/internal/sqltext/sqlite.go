package sqltext

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// SQLiteTable is a table of SQLite. It writes row by row, or many rows of VALUES:
// the database is in the process, so a statement costs no round trip, and the driver
// keeps it prepared.
type SQLiteTable struct {
	Table
	hold    string   // claims rows by id
	inserts []string // one of each of chunks
	changes [3]*RowChange
}

// RowChange changes one row, if it still is what the caller saw. Its parameters are those
// that lead and what Args appends, as many as Params says.
type RowChange struct {
	Text    string
	columns []*driver.Column
}

// Params is how many parameters follow from a row.
func (c *RowChange) Params() int { return len(c.columns) }

// Args appends the parameters of a row.
func (c *RowChange) Args(args []any, r driver.Row) ([]any, error) { return rowArgs(args, c.columns, r) }

// chunks are the numbers of rows that one INSERT may have, so that its texts
// stay few and its parameters under SQLite's limit of 32,766 up to 127 columns.
var chunks = []int{256, 32, 4, 1}

// NewSQLiteTable writes down what follows from the schema.
func NewSQLiteTable(n Names, schema *driver.Schema) *SQLiteTable {
	t := &SQLiteTable{}
	t.fill(n, schema)
	row := "(" + strings.Repeat("?, ", len(t.insertable)) + "1)"
	for _, n := range chunks {
		t.inserts = append(t.inserts, "INSERT INTO "+t.name+" ("+list(t.insertable, "", "")+`, "version") VALUES `+
			row+strings.Repeat(", "+row, n-1)+` ON CONFLICT ("scope", "key") DO NOTHING RETURNING "id", "scope", "key"`)
	}

	id, version := schema.Column("id"), schema.Column("version")
	t.changes[Update] = t.update(make([]bool, len(t.mutable)))
	t.changes[Delete] = &RowChange{"DELETE FROM " + t.name + byID + `"version" = ?`, []*driver.Column{id, version}}
	if schema.Due {
		t.changes[Extend] = &RowChange{
			"UPDATE " + t.name + ` SET "lease_expires_on" = ?` + byID + `"claim_token" = ? AND "lease_expires_on" IS NOT NULL`,
			[]*driver.Column{id, schema.Column("claim_token")},
		}
	}

	// Whoever sees it fail rolls back, so SQLite need not keep the pages of the
	// rows before, in a file, to undo the statement alone.
	t.hold = "UPDATE OR FAIL " + t.name + claimSet + " WHERE " + sqlite{}.in(`"id"`, driver.Int)
	return t
}

const byID = ` WHERE "id" = ? AND `

// update writes the columns that may change; those that are empty are no parameters.
func (t *SQLiteTable) update(empty []bool) *RowChange {
	sets := make([]string, len(t.mutable))
	var columns []*driver.Column
	for i, c := range t.mutable {
		value := nothing(c)
		if !empty[i] {
			value, columns = "?", append(columns, c)
		}
		sets[i] = quote(c.Name) + " = " + value
	}
	return &RowChange{
		"UPDATE " + t.name + ` SET "version" = "version" + 1, ` + strings.Join(sets, ", ") + byID + `"version" = ?`,
		append(columns, t.schema.Column("id"), t.schema.Column("version")),
	}
}

// nothing is how a column is written that is empty.
func nothing(c *driver.Column) string {
	switch {
	case c.Null || c.Type == driver.Instant:
		return "NULL"
	case c.Type == driver.Text:
		return "''"
	}
	return "0"
}

// Insert adds the first ones of rows, of those whose scope and key are free, and
// answers with id, scope and key of each that it added; rest is for further calls.
func (t *SQLiteTable) Insert(rows []driver.Row) (s Statement, rest []driver.Row, err error) {
	for i, n := range chunks {
		if len(rows) >= n {
			args, err := rowArgs(make([]any, 0, n*len(t.insertable)), t.insertable, rows[:n]...)
			return Statement{t.inserts[i], args}, rows[n:], err
		}
	}
	return s, nil, nil
}

// Change says how each of rows is changed. From [Many] on the text of an Update follows
// from what they share: most columns of most rows are empty, and as parameters took a
// sixth of the time.
func (t *SQLiteTable) Change(change Change, rows []driver.Row) *RowChange {
	if change != Update || len(rows) < Many {
		return t.changes[change]
	}
	return t.update(t.empty(rows))
}

// empty tells which columns that may change are empty in all rows.
func (t *SQLiteTable) empty(rows []driver.Row) []bool {
	all := slices.Repeat([]bool{true}, len(t.mutable))
	for _, r := range rows {
		fields := driver.FieldsOf(r)
		for i, c := range t.mutable {
			all[i] = all[i] && isEmpty(c, fields)
		}
	}
	return all
}

func isEmpty(c *driver.Column, f driver.Fields) bool {
	switch c.Type {
	case driver.Text:
		return *c.Text(f) == ""
	case driver.Int:
		return c.Int(f) == 0
	case driver.Bool:
		return !*c.Bool(f)
	case driver.Instant:
		return c.Instant(f).IsZero()
	}
	return c.IsNull(f)
}

// rowArgs appends the parameters of rows.
func rowArgs(args []any, columns []*driver.Column, rows ...driver.Row) ([]any, error) {
	for _, r := range rows {
		fields := driver.FieldsOf(r)
		for _, c := range columns {
			v, err := c.ValueIn(fields)
			if err != nil {
				return nil, err
			}
			args = append(args, sqlite{}.value(v))
		}
	}
	return args, nil
}

// Due reads all columns of the rows of one lane that c takes. RETURNING would put each row
// through a temporary table, which costs more than to look it up again: Hold marks them.
func (t *SQLiteTable) Due(l driver.LaneClaim, c *driver.Claim) (Statement, []*driver.Column) {
	return Statement{t.lane(shapeOf(c)), t.laneArgs(nil, l, c, c.Now, max(l.Limit, 0))}, t.all
}

// Hold claims rows by id. Nothing comes in between, since the transaction is the
// one that writes.
func (t *SQLiteTable) Hold(c *driver.Claim, ids []int64) Statement {
	return Statement{t.hold, append(t.setArgs(c), sqlite{}.value(ids))}
}

// Next answers with the lane, the due moment and the id of the first row that c would claim
// in each lane by its Now.
func (t *SQLiteTable) Next(c *driver.Claim) Statement {
	s := shapeOf(c)
	s.lanes, s.next = len(c.Lanes), true
	text := t.shaped(s, func(s shape) string {
		lane := "SELECT * FROM (" + t.lane(s) + ")"
		return lane + strings.Repeat(" UNION ALL "+lane, s.lanes-1)
	})
	var args []any
	for _, l := range c.Lanes {
		args = t.laneArgs(args, l, c, c.Now, 1)
	}
	return Statement{text, args}
}

// lane walks the due order of a lane behind a cursor. Of the cursor SQLite takes
// only the moment for a range of the index, and passes over the rows of the same
// moment. Two ranges would be exact, but with statistics its planner may walk the
// table by id for the first of them.
func (t *SQLiteTable) lane(s shape) string {
	s.lanes = 0
	return t.shaped(s, func(s shape) string {
		columns := t.columns
		if s.next {
			columns = `t."lane", t."due_on", t."id"`
		}
		return "SELECT " + columns + " FROM " + t.name + ` AS t WHERE t."lane" = ? AND (t."due_on", t."id") > (?, ?)` +
			" AND " + t.due(s) + ` ORDER BY t."due_on", t."id" LIMIT ?`
	})
}

func (t *SQLiteTable) laneArgs(args []any, l driver.LaneClaim, c *driver.Claim, by time.Time, limit int) []any {
	args = append(args, int64(l.Lane), driver.Time(l.After.DueOn).UnixMicro(), l.After.ID)
	return append(append(args, t.dueArgs(c, by)...), int64(limit))
}

// sqlite is what SQLite has its own words for.
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

func (sqlite) at(table, columns string, places []driver.Place) (text string, args []any) {
	pairs := make([][2]string, len(places))
	for i, p := range places {
		pairs[i] = [2]string{string(p.Scope), p.Key}
	}
	return "SELECT " + columns + " FROM " + table + ` WHERE ("scope", "key") IN` +
		" (SELECT value ->> 0, value ->> 1 FROM json_each(?))", []any{asJSON(pairs)}
}

func (sqlite) under(table string, places []driver.Place) (head, tail string, args []any) {
	spans := make([][3]string, len(places))
	for i, p := range places {
		from, to := driver.UnderKey(p.Key)
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

func (sqlite) setUp(Names) []string { return nil }

func (sqlite) lockHistory(string) []string { return nil }

func (sqlite) hurry() []string { return nil }

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
