package sqlstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// sqliteTable is a table of SQLite. It writes row by row, or many rows of VALUES:
// the database is in the process, so a statement costs no round trip, and the driver
// keeps it prepared.
type sqliteTable struct {
	tableText
	holding string   // claims rows by id
	inserts []string // one of each of chunks
	changes [3]*rowChange
}

// rowChange changes one row, if it still is what the caller saw. Its parameters are those
// that lead and what args appends.
type rowChange struct {
	text    string
	columns []*driver.Column
}

// args appends the parameters of a row.
func (c *rowChange) args(args []any, r driver.Row) ([]any, error) { return rowArgs(args, c.columns, r) }

// chunks are the numbers of rows that one INSERT may have, so that its texts
// stay few and its parameters under SQLite's limit of 32,766 up to 127 columns.
var chunks = []int{256, 32, 4, 1}

// table writes down what follows from the schema.
func (sqlite) table(n naming, schema *driver.Schema) table {
	t := &sqliteTable{}
	t.fill(n, schema)
	version1, one := t.first()
	row := "(?" + strings.Repeat(", ?", len(t.insertable)-1) + one + ")"
	for _, n := range chunks {
		t.inserts = append(t.inserts, "INSERT INTO "+t.name+" ("+list(t.insertable, "", "")+version1+") VALUES "+
			row+strings.Repeat(", "+row, n-1)+` ON CONFLICT ("scope", "key") DO NOTHING RETURNING "id", "scope", "key"`)
	}

	id, version := schema.Column("id"), schema.Column("version")
	t.changes[changeUpdate] = t.update(make([]bool, len(t.mutable)))
	t.changes[changeDelete] = &rowChange{"DELETE FROM " + t.name + byID + `"version" = ?`, []*driver.Column{id, version}}
	if schema.Due {
		t.changes[changeExtend] = &rowChange{
			"UPDATE " + t.name + ` SET "lease_expires_on" = ?` + byID + `"claim_token" = ? AND "lease_expires_on" IS NOT NULL`,
			[]*driver.Column{id, schema.Column("claim_token")},
		}
	}

	// A caller that sees it fail rolls back, so SQLite need not keep the pages of the
	// rows before, in a file, to undo the statement alone.
	t.holding = "UPDATE OR FAIL " + t.name + claimSet + " WHERE " + sqlite{}.in(`"id"`, driver.Int)
	return t
}

const byID = ` WHERE "id" = ? AND `

// update writes the columns that may change; those that are empty are no parameters.
func (t *sqliteTable) update(empty []bool) *rowChange {
	sets := make([]string, len(t.mutable))
	var columns []*driver.Column
	for i, c := range t.mutable {
		value := nothing(c)
		if !empty[i] {
			value, columns = "?", append(columns, c)
		}
		sets[i] = quote(c.Name) + " = " + value
	}
	return &rowChange{
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

// insertText adds the first ones of rows, of those whose scope and key are free, and
// answers with id, scope and key of each that it added; rest is for further calls.
func (t *sqliteTable) insertText(rows []driver.Row) (s statement, rest []driver.Row, err error) {
	for i, n := range chunks {
		if len(rows) >= n {
			args, err := rowArgs(make([]any, 0, n*len(t.insertable)), t.insertable, rows[:n]...)
			return statement{t.inserts[i], args}, rows[n:], err
		}
	}
	return s, nil, nil
}

// changeText says how each of rows is changed. From [manyRows] on the text of an Update follows
// from what they share: most columns of most rows are empty, and as parameters took a
// sixth of the time.
func (t *sqliteTable) changeText(change changeKind, rows []driver.Row) *rowChange {
	if change != changeUpdate || len(rows) < manyRows {
		return t.changes[change]
	}
	return t.update(t.empty(rows))
}

// empty tells which columns that may change are empty in all rows.
func (t *sqliteTable) empty(rows []driver.Row) []bool {
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

// dueText reads all columns of the rows of one lane that c takes. RETURNING would put each row
// through a temporary table, which costs more than to look it up again: holdText marks them.
func (t *sqliteTable) dueText(l driver.LaneClaim, c *driver.Claim) (statement, []*driver.Column) {
	return statement{t.lane(shapeOf(c)), t.laneArgs(nil, l, c, c.Now, max(l.Limit, 0))}, t.all
}

// holdText claims rows by id. Nothing comes in between, since the transaction is the
// one that writes.
func (t *sqliteTable) holdText(c *driver.Claim, ids []int64) statement {
	return statement{t.holding, append(t.setArgs(c), sqlite{}.value(ids))}
}

// next answers with the lane, the due moment and the id of the first row that c would claim
// in each lane by its Now.
func (t *sqliteTable) next(c *driver.Claim) statement {
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
	return statement{text, args}
}

// lane walks the due order of a lane behind a cursor. Of the cursor SQLite takes
// only the moment for a range of the index, and passes over the rows of the same
// moment. Two ranges would be exact, but with statistics its planner may walk the
// table by id for the first of them.
func (t *sqliteTable) lane(s shape) string {
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

func (t *sqliteTable) laneArgs(args []any, l driver.LaneClaim, c *driver.Claim, by time.Time, limit int) []any {
	args = append(args, int64(l.Lane), driver.Time(l.After.DueOn).UnixMicro(), l.After.ID)
	return append(append(args, t.dueArgs(c, by)...), int64(limit))
}

func (t *sqliteTable) insert(ctx context.Context, x *tx, rows []driver.Row, done inserted) (err error) {
	for len(rows) > 0 {
		var s statement
		if s, rows, err = t.insertText(rows); err != nil {
			return err
		}
		if err := x.query(ctx, s, scanInserted(done)); err != nil {
			return err
		}
	}
	return nil
}

func (t *sqliteTable) change(ctx context.Context, x *tx, change changeKind, lead []any, rows []driver.Row) ([]bool, error) {
	hits := make([]bool, len(rows))
	one := t.changeText(change, rows)
	args := make([]any, 0, len(lead)+len(one.columns))
	var last int64 // hit: of a row given twice only the first is written
	err := x.each(ctx, one.text, func(exec func([]any) (int64, error)) error {
		for i, r := range rows {
			id := driver.RecordOf(r).ID
			if id == last {
				continue
			}
			args, err := one.args(append(args[:0], lead...), r)
			if err != nil {
				return err
			}
			n, err := exec(args)
			if err != nil {
				return err
			}
			if n == 1 {
				hits[i], last = true, id
			}
		}
		return nil
	})
	return hits, err
}

// claim finds the rows of each lane and marks them.
func (t *sqliteTable) claim(ctx context.Context, x *tx, c *driver.Claim) (rows []driver.Row, err error) {
	for _, l := range c.Lanes {
		s, columns := t.dueText(l, c)
		found, err := x.rows(ctx, s, t.schema, columns)
		if err == nil {
			err = t.hold(ctx, x, c, found)
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, found...)
	}
	return rows, nil
}

// hold claims rows that were found.
func (t *sqliteTable) hold(ctx context.Context, x *tx, c *driver.Claim, rows []driver.Row) error {
	if len(rows) == 0 {
		return nil
	}
	ids := make([]int64, len(rows))
	for i, r := range rows {
		due := driver.DueOf(r)
		ids[i] = due.ID
		due.Version++
		due.Abandoned = !due.LeaseExpiresOn.IsZero()
		if c.Busy != "" {
			due.Status = c.Busy
		}
	}
	_, err := x.exec(ctx, t.holdText(c, ids))
	return err
}
