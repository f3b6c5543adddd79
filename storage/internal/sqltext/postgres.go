package sqltext

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/belfry-go/belfry/storage/driver"
)

// PostgresTable is a table of PostgreSQL. It writes many rows with one statement;
// frame says how they are passed.
type PostgresTable struct {
	Table
	// claimed are the columns that a claim has to read back; unknown lists them.
	claimed    []*driver.Column
	unknown    string
	insertion  frame // leaves out rows whose keys are taken
	optimistic frame // fails if one is
	changes    [3]frame
}

// NewPostgresTable writes down what follows from the schema.
func NewPostgresTable(n Names, schema *driver.Schema) *PostgresTable {
	t := &PostgresTable{}
	t.fill(n, schema)
	for _, c := range t.all {
		if c.Name != "lease_expires_on" && c.Name != "claim_token" {
			t.claimed = append(t.claimed, c)
		}
	}
	t.unknown = list(t.claimed, "", "")

	insert := "INSERT INTO " + t.name + " (" + list(t.insertable, "", "") + `, "version") SELECT ` + list(t.insertable, "c.", "") + ", 1 FROM "
	answer := ` RETURNING "id", "scope", "key"`
	t.insertion = newFrame(insert, t.insertable, ` ON CONFLICT ("scope", "key") DO NOTHING`+answer)
	t.optimistic = t.insertion
	t.optimistic.after = answer

	id, version := schema.Column("id"), schema.Column("version")
	seen := []*driver.Column{id, version}
	sets := make([]string, len(t.mutable))
	for i, c := range t.mutable {
		sets[i] = quote(c.Name) + " = c." + quote(c.Name)
	}
	t.changes[Update] = pgChange("UPDATE "+t.name+` AS t SET "version" = t."version" + 1, `+strings.Join(sets, ", ")+" FROM ",
		append(seen[:2:2], t.mutable...), `t."version" = c."version"`)
	t.changes[Delete] = pgChange("DELETE FROM "+t.name+" AS t USING ", seen, `t."version" = c."version"`)
	if schema.Due {
		t.changes[Extend] = pgChange("UPDATE "+t.name+` AS t SET "lease_expires_on" = ? FROM `, []*driver.Column{id, schema.Column("claim_token")},
			`t."claim_token" = c."claim_token" AND t."lease_expires_on" IS NOT NULL`)
	}
	return t
}

// pgChange is a statement that changes t by the rows of c and answers the
// places of those that were hit.
func pgChange(head string, columns []*driver.Column, guard string) frame {
	return newFrame(head, columns, ` WHERE t."id" = c."id" AND `+guard+" RETURNING c.n")
}

// Insert adds the rows whose scope and key are free, in their order, and answers
// with id, scope and key of each of those. An optimistic one fails if a key is
// taken; it must be of [Many] rows.
func (t *PostgresTable) Insert(rows []driver.Row, optimistic bool) (Statement, error) {
	if optimistic {
		return t.optimistic.statement(nil, rows)
	}
	return t.insertion.statement(nil, rows)
}

// Change changes rows that still are what the caller saw, in their order, and
// answers with the places of those, from 1.
func (t *PostgresTable) Change(change Change, lead []any, rows []driver.Row) (Statement, error) {
	return t.changes[change].statement(lead, rows)
}

// Claim takes due rows and answers with columns of them, in any order. It takes
// from each lane along the due index. The ARRAY keeps the planner
// from a join that flips to a sequential scan. A row that is locked stays where
// it is, so it is updated by its place, without another look into an index. Lease
// and token are alike for all rows, and not told.
func (t *PostgresTable) Claim(c *driver.Claim) (Statement, []*driver.Column) {
	s := shapeOf(c)
	text := t.shaped(s, func(s shape) string {
		return "UPDATE " + t.name + claimSet + " WHERE ctid = ANY(ARRAY(SELECT c.ctid" + pgLanes +
			fmt.Sprintf(pgLane, "ctid", t.name, t.due(s), "l.n FOR UPDATE SKIP LOCKED") + ")) RETURNING " + t.unknown
	})
	args := append(t.setArgs(c), laneArrays(c.Lanes, true)...)
	return Statement{text, append(args, t.dueArgs(c, c.Now)...)}, t.claimed
}

// Next answers with the lane, the due moment and the id of the first row that c would claim
// in each lane by its Now.
func (t *PostgresTable) Next(c *driver.Claim) Statement {
	s := shapeOf(c)
	s.next = true
	text := t.shaped(s, func(s shape) string {
		return `SELECT l.lane, c."due_on", c."id" FROM unnest(?::smallint[], ?::timestamptz[], ?::bigint[]) AS l(lane, due, id),` +
			fmt.Sprintf(pgLane, `"due_on", t."id"`, t.name, t.due(s), "1")
	})
	return Statement{text, append(laneArrays(c.Lanes, false), t.dueArgs(c, c.Now)...)}
}

// pgLanes are lanes, each with where it begins and how much is taken.
const pgLanes = " FROM unnest(?::smallint[], ?::timestamptz[], ?::bigint[], ?::bigint[]) AS l(lane, due, id, n),"

// pgLane walks the due order of one lane l.
const pgLane = ` LATERAL (SELECT t.%s FROM %s AS t WHERE t."lane" = l.lane` +
	` AND (t."due_on", t."id") > (l.due, l.id) AND %s ORDER BY t."due_on", t."id" LIMIT %s) AS c`

// postgres is what PostgreSQL has its own words for.
type postgres struct{}

// in hides how long a list of keys or ids is: for long ones the planner would read
// all rows of the scope, if it has no statistics.
func (postgres) in(column string, kind driver.ColumnType) string {
	array := "?::" + postgresDDL.kinds[kind] + "[]"
	if column == `"key"` || column == `"id"` {
		return column + " = ANY((SELECT " + array + ")::" + postgresDDL.kinds[kind] + "[])"
	}
	return column + " = ANY(" + array + ")"
}

// scoped compares with a text that only rows of one scope with that column have: the
// length says where the scope ends.
func (p postgres) scoped(column string) string {
	return p.in(`(length(t."scope") || ':' || t."scope" || t.`+quote(column)+`)`, driver.Text)
}

func (p postgres) pairs(all []driver.ScopedKind) any {
	out := make([]string, len(all))
	for i, e := range all {
		out[i] = fmt.Sprint(utf8.RuneCountInString(string(e.Scope)), ":", e.Scope, e.Kind)
	}
	return p.value(out)
}

// at looks each row up by itself: the LIMIT keeps the planner from a join that reads
// the whole table, and the SELECT hides how many there are.
func (postgres) at(table, columns string, places []driver.Place) (text string, args []any) {
	scopes, keys := make([]string, len(places)), make([]string, len(places))
	for i, p := range places {
		scopes[i], keys[i] = string(p.Scope), p.Key
	}
	return "SELECT r.* FROM unnest((SELECT ?::text[]), (SELECT ?::text[])) AS p(scope, key), LATERAL (SELECT " + columns +
		" FROM " + table + ` AS t WHERE t."scope" = p.scope AND t."key" = p.key LIMIT 1) AS r`, []any{textArray(scopes), textArray(keys)}
}

// under keeps the planner from joining the whole table: a subquery with a LIMIT stays one.
func (postgres) under(table string, places []driver.Place) (head, tail string, args []any) {
	scopes, from, to := make([]string, len(places)), make([]string, len(places)), make([]string, len(places))
	for i, p := range places {
		scopes[i] = string(p.Scope)
		from[i], to[i] = driver.UnderKey(p.Key)
	}
	return "SELECT p.n - 1 FROM unnest((SELECT ?::text[]), (SELECT ?::text[]), (SELECT ?::text[])) WITH ORDINALITY AS p(scope, low, high, n)," +
			" LATERAL (SELECT 1 FROM " + table + ` AS t WHERE t."scope" = p.scope AND t."key" > p.low AND t."key" < p.high AND `,
		" LIMIT 1) AS r", []any{textArray(scopes), textArray(from), textArray(to)}
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

// setUp needs no right to create a schema that exists. The lock ends with its
// transaction, so it is safe behind a pooler.
func (postgres) setUp(n Names) []string {
	texts := []string{"SELECT pg_advisory_xact_lock(hashtext('belfry " + HistoryTable + "'))"}
	if n.Schema != "" {
		texts = append(texts, "DO $$ BEGIN IF to_regnamespace('"+quote(n.Schema)+"') IS NULL THEN CREATE SCHEMA "+
			quote(n.Schema)+"; END IF; END $$")
	}
	return texts
}

func (postgres) lockHistory(table string) []string {
	return []string{"SELECT 1 FROM " + table + ` WHERE "number" = 0 FOR UPDATE`}
}

func (postgres) hurry() []string { return []string{"SET LOCAL lock_timeout = '50ms'"} }

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
