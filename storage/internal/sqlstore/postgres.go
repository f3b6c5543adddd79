package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// postgres writes many rows with one statement; frame says how they are passed.
type postgres struct{}

func (postgres) statements(t *table) {
	insert := "INSERT INTO " + t.name + " (" + list(t.insertable, "", "") + `, "version") SELECT ` + list(t.insertable, "c.", "") + ", 1 FROM "
	answer := ` RETURNING "id", "scope", "key"`
	t.insertion = newFrame(insert, t.insertable, ` ON CONFLICT ("scope", "key") DO NOTHING`+answer)
	t.optimistic = t.insertion
	t.optimistic.after = answer

	id, version, token := t.schema.Column("id"), t.schema.Column("version"), t.schema.Column("claim_token")
	seen := []*driver.Column{id, version}
	sets := make([]string, len(t.mutable))
	for i, c := range t.mutable {
		sets[i] = quote(c.Name) + " = c." + quote(c.Name)
	}
	t.update.frame = pgSwap("UPDATE "+t.name+` AS t SET "version" = t."version" + 1, `+strings.Join(sets, ", ")+" FROM ",
		append(seen[:2:2], t.mutable...), `t."version" = c."version"`)
	t.remove.frame = pgSwap("DELETE FROM "+t.name+" AS t USING ", seen, `t."version" = c."version"`)
	t.extend.frame = pgSwap("UPDATE "+t.name+` AS t SET "lease_expires_on" = ? FROM `, []*driver.Column{id, token},
		`t."claim_token" = c."claim_token" AND t."lease_expires_on" IS NOT NULL`)
}

// pgSwap is a statement that changes t by the rows of c and answers the
// places of those that were hit.
func pgSwap(head string, columns []*driver.Column, guard string) frame {
	return newFrame(head, columns, ` WHERE t."id" = c."id" AND `+guard+" RETURNING c.n")
}

func (postgres) insert(ctx context.Context, x *tx, t *table, rows []driver.Row, done inserted) error {
	large := len(rows) >= many
	if large && !x.joined && !x.again && t.optimism.expects() {
		err := insertBy(ctx, x, &t.optimistic, rows, done)
		if err == nil || x.store.cfg.Classify(err) != Unique {
			return err
		}
		t.optimism.fail()
		return &failure{op: "insert into " + t.schema.Name, class: Serialization, means: driver.ErrBusy, cause: err}
	}
	added := 0
	err := insertBy(ctx, x, &t.insertion, rows, func(id int64, scope driver.Scope, key string) error {
		added++
		return done(id, scope, key)
	})
	if err == nil && large {
		t.optimism.learn(added == len(rows))
	}
	return err
}

func insertBy(ctx context.Context, x *tx, f *frame, rows []driver.Row, done inserted) error {
	text, args, err := f.statement(nil, rows)
	if err != nil {
		return err
	}
	return x.query(ctx, text, args, scanInserted(done))
}

func (postgres) swap(ctx context.Context, x *tx, s *swap, lead []any, rows []driver.Row) ([]bool, error) {
	text, args, err := s.statement(lead, rows)
	if err != nil {
		return nil, err
	}
	hits := make([]bool, len(rows))
	return hits, x.query(ctx, text, args, func(r *sql.Rows) error {
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
func (postgres) in(column string, kind driver.Kind) string {
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
func (postgres) claim(ctx context.Context, x *tx, t *table, c *driver.Claim) ([]driver.Row, error) {
	text := t.shaped(shapeOf(c), func(t *table, s shape) string {
		return "UPDATE " + t.name + claimSet + ` WHERE ctid = ANY(ARRAY(SELECT c.ctid` +
			" FROM unnest(?::smallint[], ?::timestamptz[], ?::bigint[], ?::bigint[]) AS l(lane, due, id, n)," +
			fmt.Sprintf(pgLane, "ctid", t.name, t.due(s), "l.n FOR UPDATE SKIP LOCKED") + ")) RETURNING " + t.unknown
	})
	args := append(t.setArgs(c), laneArrays(c.Lanes, true)...)
	return x.rows(ctx, text, append(args, t.dueArgs(c, c.Now)...), t, t.claimed)
}

func (postgres) next(t *table, c *driver.Claim) (string, []any) {
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

// setUp needs no right to create a schema that exists. The lock ends with its
// transaction, so it is safe behind a pooler.
func (postgres) setUp(n names) []string {
	texts := []string{"SELECT pg_advisory_xact_lock(hashtext('belfry " + historyTable + "'))"}
	if n.schema != "" {
		texts = append(texts, "DO $$ BEGIN IF to_regnamespace('"+quote(n.schema)+"') IS NULL THEN CREATE SCHEMA "+
			quote(n.schema)+"; END IF; END $$")
	}
	return texts
}

func (postgres) lockHistory(table string) []string {
	return []string{"SELECT 1 FROM " + table + ` WHERE "number" = 0 FOR UPDATE`}
}

func (postgres) exists() string { return "SELECT to_regclass(?) IS NOT NULL" }

func (postgres) columns() string {
	return `SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
	a.atthasdef OR a.attidentity <> '', COALESCE(c.collname, '')
FROM pg_attribute AS a LEFT JOIN pg_collation AS c ON c.oid = a.attcollation
WHERE a.attrelid = to_regclass(?) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`
}

func (postgres) indexes() string {
	return `SELECT i.relname, x.indisunique, pg_get_indexdef(x.indexrelid), COALESCE((
	SELECT string_agg(a.attname, ',' ORDER BY k.n) FROM unnest(x.indkey::int2[]) WITH ORDINALITY AS k(att, n)
	JOIN pg_attribute AS a ON a.attrelid = x.indrelid AND a.attnum = k.att WHERE k.n <= x.indnkeyatts), '')
FROM pg_index AS x JOIN pg_class AS i ON i.oid = x.indexrelid WHERE x.indrelid = to_regclass(?) ORDER BY i.relname`
}
