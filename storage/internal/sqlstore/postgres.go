package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/belfry-go/belfry/storage"
)

// postgres writes many rows with one statement; pgRows says how they are passed.
type postgres struct{}

func (postgres) statements(t *table) {
	t.insert = []string{sqlx.Rebind(sqlx.DOLLAR, "INSERT INTO "+t.name+" ("+list(t.insertable, "", "")+`, "version")`+
		" SELECT "+list(t.insertable, "c.", "")+", 1 FROM "+pgRows(t.insertable)+
		` ON CONFLICT ("scope", "key") DO NOTHING RETURNING "id", "scope", "key"`)}

	id, version, token := t.schema.Column("id"), t.schema.Column("version"), t.schema.Column("claim_token")
	seen := []*storage.Column{id, version}
	t.update.columns = append(seen[:2:2], t.mutable...)
	sets := make([]string, len(t.mutable))
	for i, c := range t.mutable {
		sets[i] = quote(c.Name) + " = c." + quote(c.Name)
	}
	t.update.text = pgSwap("UPDATE "+t.name+` AS t SET "version" = t."version" + 1, `+strings.Join(sets, ", ")+" FROM ",
		t.update.columns, `t."version" = c."version"`)

	t.remove.columns = seen
	t.remove.text = pgSwap("DELETE FROM "+t.name+" AS t USING ", seen, `t."version" = c."version"`)

	t.extend.columns = []*storage.Column{id, token}
	t.extend.text = pgSwap("UPDATE "+t.name+` AS t SET "lease_expires_on" = ? FROM `, t.extend.columns,
		`t."claim_token" = c."claim_token" AND t."lease_expires_on" IS NOT NULL`)
}

// pgSwap completes a statement that changes t by the rows of c and answers the
// places of those that were hit.
func pgSwap(head string, columns []*storage.Column, guard string) string {
	return sqlx.Rebind(sqlx.DOLLAR, head+pgRows(columns)+
		` WHERE t."id" = c."id" AND `+guard+" RETURNING c.n")
}

func (postgres) insert(ctx context.Context, x *tx, t *table, rows []storage.Row, done inserted) error {
	args, err := pgArgs(nil, t.insertable, rows)
	if err != nil {
		return err
	}
	return x.query(ctx, t.insert[0], args, scanInserted(done))
}

func (postgres) swap(ctx context.Context, x *tx, s *swap, lead []any, rows []storage.Row) ([]bool, error) {
	args, err := pgArgs(lead, s.columns, rows)
	if err != nil {
		return nil, err
	}
	hits := make([]bool, len(rows))
	return hits, x.query(ctx, s.text, args, func(r *sql.Rows) error {
		var n int
		for r.Next() {
			if err := r.Scan(&n); err != nil {
				return err
			}
			hits[n-1] = true
		}
		return nil
	})
}

// in hides how long a list of keys or ids is: for long ones the planner would read
// all rows of the scope, if it has no statistics.
func (postgres) in(column string, kind storage.Kind) string {
	array := "?::" + postgresDDL.kinds[kind] + "[]"
	if column == `"key"` || column == `"id"` {
		return column + " = ANY((SELECT " + array + ")::" + postgresDDL.kinds[kind] + "[])"
	}
	return column + " = ANY(" + array + ")"
}

func (postgres) value(v any) any {
	switch v := v.(type) {
	case []string:
		return textArray(v)
	case []int64:
		return intArray(v)
	case time.Time:
		if v.IsZero() {
			return nil
		}
	}
	return v
}

// claim takes from each lane along the due index. The ARRAY keeps the planner
// from a join that flips to a sequential scan. A row that is locked stays where
// it is, so it is updated by its place, without another look into an index.
func (postgres) claim(ctx context.Context, x *tx, t *table, c *storage.Claim) ([]storage.Row, error) {
	text := t.shaped(shapeOf(c), func(t *table, s shape) string {
		return "UPDATE " + t.name + claimSet + ` WHERE ctid = ANY(ARRAY(SELECT c.ctid` +
			" FROM unnest(?::smallint[], ?::timestamptz[], ?::bigint[], ?::bigint[]) AS l(lane, due, id, n)," +
			fmt.Sprintf(pgLane, "ctid", t.name, t.due(s), "l.n FOR UPDATE SKIP LOCKED") + ")) RETURNING " + t.unknown
	})
	args := append(t.setArgs(c), laneArrays(c.Lanes, true)...)
	return x.rows(ctx, text, append(args, t.dueArgs(c, c.Now)...), t, t.claimed)
}

func (postgres) next(t *table, c *storage.Claim) (string, []any) {
	s := shapeOf(c)
	s.peek = true
	text := t.shaped(s, func(t *table, s shape) string {
		return `SELECT min(c."due_on") FROM unnest(?::smallint[], ?::timestamptz[], ?::bigint[]) AS l(lane, due, id),` +
			fmt.Sprintf(pgLane, `"due_on"`, t.name, t.due(s), "1")
	})
	return text, append(laneArrays(c.Lanes, false), t.dueArgs(c, c.Now)...)
}

// pgLane walks the due order of one lane l.
const pgLane = ` LATERAL (SELECT t.%s FROM %s AS t WHERE t."lane" = l.lane` +
	` AND (t."due_on", t."id") > (l.due, l.id) AND %s ORDER BY t."due_on", t."id" LIMIT %s) AS c`
