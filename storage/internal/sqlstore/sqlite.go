package sqlstore

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// sqlite writes row by row, or many rows of VALUES: the database is in the
// process, so a statement costs no round trip, and the driver keeps it prepared.
type sqlite struct{}

// chunks are the numbers of rows that one INSERT may have, so that its texts
// stay few and its parameters under SQLite's limit of 32,766 up to 127 columns.
var chunks = []int{256, 32, 4, 1}

func (sqlite) statements(t *table) {
	row := "(" + strings.Repeat("?, ", len(t.insertable)) + "1)"
	for _, n := range chunks {
		t.insert = append(t.insert, "INSERT INTO "+t.name+" ("+list(t.insertable, "", "")+`, "version") VALUES `+
			row+strings.Repeat(", "+row, n-1)+` ON CONFLICT ("scope", "key") DO NOTHING RETURNING "id", "scope", "key"`)
	}

	id, version, token := t.schema.Column("id"), t.schema.Column("version"), t.schema.Column("claim_token")
	const where = ` WHERE "id" = ? AND `
	t.update.columns = append(t.mutable[:len(t.mutable):len(t.mutable)], id, version)
	t.update.text = "UPDATE " + t.name + ` SET "version" = "version" + 1, ` + list(t.mutable, "", " = ?") + where + `"version" = ?`

	// Whoever sees it fail rolls back, so SQLite need not keep the pages of the
	// rows before, in a file, to undo the statement alone.
	t.hold = "UPDATE OR FAIL " + t.name + claimSet + " WHERE " + sqlite{}.in(`"id"`, driver.Int)

	t.remove.columns = []*driver.Column{id, version}
	t.remove.text = "DELETE FROM " + t.name + where + `"version" = ?`

	t.extend.columns = []*driver.Column{id, token}
	t.extend.text = "UPDATE " + t.name + ` SET "lease_expires_on" = ?` + where + `"claim_token" = ? AND "lease_expires_on" IS NOT NULL`
}

func (sqlite) insert(ctx context.Context, x *tx, t *table, rows []driver.Row, done inserted) error {
	for i, n := range chunks {
		for ; len(rows) >= n; rows = rows[n:] {
			args, err := rowArgs(make([]any, 0, n*len(t.insertable)), t.insertable, rows[:n]...)
			if err != nil {
				return err
			}
			if err := x.query(ctx, t.insert[i], args, scanInserted(done)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (sqlite) swap(ctx context.Context, x *tx, s *swap, lead []any, rows []driver.Row) ([]bool, error) {
	hits := make([]bool, len(rows))
	args := make([]any, 0, len(lead)+len(s.columns))
	var last int64 // hit: of a row given twice only the first is written
	err := x.each(ctx, s.text, func(exec func([]any) (int64, error)) error {
		for i, r := range rows {
			id := driver.RecordOf(r).ID
			if id == last {
				continue
			}
			args, err := rowArgs(append(args[:0], lead...), s.columns, r)
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

func (sqlite) in(column string, _ driver.Kind) string {
	return column + " IN (SELECT value FROM json_each(?))"
}

func (sqlite) value(v any) any {
	switch v := v.(type) {
	case []string, []int64:
		text, _ := json.Marshal(v) // strings and numbers always marshal
		return string(text)
	case time.Time:
		if v.IsZero() {
			return nil
		}
		return v.UnixMicro()
	}
	return v
}

// claim finds the rows of each lane and marks them. Nothing comes in between,
// since the transaction is the one that writes. RETURNING would put each row
// through a temporary table, which costs more than to look it up again.
func (sqlite) claim(ctx context.Context, x *tx, t *table, c *driver.Claim) (rows []driver.Row, err error) {
	s := shapeOf(c)
	for _, l := range c.Lanes {
		found, err := x.rows(ctx, t.lane(s), t.laneArgs(nil, l, c, max(l.Limit, 0)), t, t.all)
		if err == nil {
			err = hold(ctx, x, t, c, found)
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, found...)
	}
	return rows, nil
}

// hold claims rows that were found.
func hold(ctx context.Context, x *tx, t *table, c *driver.Claim, rows []driver.Row) error {
	if len(rows) == 0 {
		return nil
	}
	ids := make([]int64, len(rows))
	for i, r := range rows {
		rec := driver.RecordOf(r)
		ids[i] = rec.ID
		rec.Version++
		rec.Abandoned = !rec.LeaseExpiresOn.IsZero()
		if c.Busy != "" {
			rec.Status = c.Busy
		}
	}
	_, err := x.exec(ctx, t.hold, append(t.setArgs(c), sqlite{}.value(ids)))
	return err
}

func (sqlite) next(t *table, c *driver.Claim) (string, []any) {
	s := shapeOf(c)
	s.lanes, s.peek = len(c.Lanes), true
	text := t.shaped(s, func(t *table, s shape) string {
		lane := "SELECT * FROM (" + t.lane(s) + ")"
		return `SELECT min("due_on") FROM (` + lane + strings.Repeat(" UNION ALL "+lane, s.lanes-1) + ")"
	})
	var args []any
	for _, l := range c.Lanes {
		args = t.laneArgs(args, l, c, 1)
	}
	return text, args
}

// lane walks the due order of a lane behind a cursor. Of the cursor SQLite takes
// only the moment for a range of the index, and passes over the rows of the same
// moment. Two ranges would be exact, but with statistics its planner may walk the
// table by id for the first of them.
func (t *table) lane(s shape) string {
	s.lanes = 0
	return t.shaped(s, func(t *table, s shape) string {
		columns := t.columns
		if s.peek {
			columns = `t."due_on"`
		}
		return "SELECT " + columns + " FROM " + t.name + ` AS t WHERE t."lane" = ? AND (t."due_on", t."id") > (?, ?)` +
			" AND " + t.due(s) + ` ORDER BY t."due_on", t."id" LIMIT ?`
	})
}

func (t *table) laneArgs(args []any, l driver.LaneClaim, c *driver.Claim, limit int) []any {
	args = append(args, int64(l.Lane), driver.Time(l.After.DueOn).UnixMicro(), l.After.ID)
	return append(append(args, t.dueArgs(c, c.Now)...), int64(limit))
}

// A writing transaction is alone from its beginning, so there is nothing to lock.

func (sqlite) setUp(names) []string { return nil }

func (sqlite) lockHistory(string) []string { return nil }

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
