package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage"
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

	t.remove.columns = []*storage.Column{id, version}
	t.remove.text = "DELETE FROM " + t.name + where + `"version" = ?`

	t.extend.columns = []*storage.Column{id, token}
	t.extend.text = "UPDATE " + t.name + ` SET "lease_expires_on" = ?` + where + `"claim_token" = ? AND "lease_expires_on" IS NOT NULL`
}

func (sqlite) insert(ctx context.Context, x *tx, t *table, rows []storage.Row, done inserted) error {
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

func (sqlite) swap(ctx context.Context, x *tx, s *swap, lead []any, rows []storage.Row) ([]bool, error) {
	hits := make([]bool, len(rows))
	args := make([]any, 0, len(lead)+len(s.columns))
	var last int64 // hit: of a row given twice only the first is written
	for i, r := range rows {
		id := storage.RecordOf(r).ID
		if id == last {
			continue
		}
		args, err := rowArgs(append(args[:0], lead...), s.columns, r)
		if err != nil {
			return nil, err
		}
		n, err := x.exec(ctx, s.text, args)
		if err != nil {
			return nil, err
		}
		if n == 1 {
			hits[i], last = true, id
		}
	}
	return hits, nil
}

// rowArgs appends the parameters of rows.
func rowArgs(args []any, columns []*storage.Column, rows ...storage.Row) ([]any, error) {
	for _, r := range rows {
		fields := storage.FieldsOf(r)
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

func (sqlite) in(column string, _ storage.Kind) string {
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

func (sqlite) claim(t *table, c *storage.Claim) (string, []any) {
	s := shapeOf(c)
	s.lanes = len(c.Lanes)
	text := t.shaped(s, func(t *table, s shape) string {
		return "UPDATE " + t.name + claimSet + ` WHERE "id" IN (` + liteLanes(t, s, `"id"`) + ") RETURNING " + t.unknown
	})
	args := t.setArgs(c)
	for _, l := range c.Lanes {
		args = append(laneArgs(t, args, l, c), int64(max(l.Limit, 0)))
	}
	return text, args
}

func (sqlite) next(t *table, c *storage.Claim) (string, []any) {
	s := shapeOf(c)
	s.lanes, s.peek = len(c.Lanes), true
	text := t.shaped(s, func(t *table, s shape) string {
		return `SELECT min("due_on") FROM (` + liteLanes(t, s, `"due_on"`) + ")"
	})
	var args []any
	for _, l := range c.Lanes {
		args = append(laneArgs(t, args, l, c), 1)
	}
	return text, args
}

// liteLanes walks the due order of each lane.
func liteLanes(t *table, s shape, column string) string {
	lane := fmt.Sprintf(`SELECT * FROM (SELECT t.%s FROM %s AS t WHERE t."lane" = ?`+
		` AND (t."due_on", t."id") > (?, ?) AND %s ORDER BY t."due_on", t."id" LIMIT ?)`, column, t.name, t.due(s))
	return lane + strings.Repeat(" UNION ALL "+lane, s.lanes-1)
}

func laneArgs(t *table, args []any, l storage.LaneClaim, c *storage.Claim) []any {
	args = append(args, int64(l.Lane), storage.Time(l.After.DueOn).UnixMicro(), l.After.ID)
	return append(args, t.dueArgs(c, c.Now)...)
}
