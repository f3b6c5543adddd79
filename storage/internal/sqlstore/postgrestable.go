package sqlstore

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/belfry-go/belfry/storage/driver"
)

// postgresTable is a table of PostgreSQL. It writes many rows with one statement;
// frame says how they are passed.
type postgresTable struct {
	tableText
	// claimed are the columns that a claim has to read back; unknown lists them.
	claimed    []*driver.Column
	unknown    string
	insertFast fastPath
	insertion  frame // leaves out rows whose keys are taken
	insertNew  frame // fails if one is
	changes    [3]frame
}

// table writes down what follows from the schema.
func (postgres) table(n naming, schema *driver.Schema) table {
	t := &postgresTable{}
	t.fill(n, schema)
	for _, c := range t.all {
		if c.Name != "lease_expires_on" && c.Name != "claim_token" {
			t.claimed = append(t.claimed, c)
		}
	}
	t.unknown = list(t.claimed, "", "")

	version1, one := t.first()
	insert := "INSERT INTO " + t.name + " (" + list(t.insertable, "", "") + version1 + ") SELECT " + list(t.insertable, "c.", "") + one + " FROM "
	answer := ` RETURNING "id", "scope", "key"`
	t.insertion = newFrame(insert, t.insertable, ` ON CONFLICT ("scope", "key") DO NOTHING`+answer)
	t.insertNew = t.insertion
	t.insertNew.after = answer

	id, version := schema.Column("id"), schema.Column("version")
	seen := []*driver.Column{id, version}
	sets := make([]string, len(t.mutable))
	for i, c := range t.mutable {
		sets[i] = quote(c.Name) + " = c." + quote(c.Name)
	}
	t.changes[changeUpdate] = pgChange("UPDATE "+t.name+` AS t SET "version" = t."version" + 1, `+strings.Join(sets, ", ")+" FROM ",
		append(seen[:2:2], t.mutable...), `t."version" = c."version"`)
	t.changes[changeDelete] = pgChange("DELETE FROM "+t.name+" AS t USING ", seen, `t."version" = c."version"`)
	if schema.Due {
		t.changes[changeExtend] = pgChange("UPDATE "+t.name+` AS t SET "lease_expires_on" = ? FROM `, []*driver.Column{id, schema.Column("claim_token")},
			`t."claim_token" = c."claim_token" AND t."lease_expires_on" IS NOT NULL`)
	}
	return t
}

// pgChange is a statement that changes t by the rows of c and answers the
// places of those that were hit.
func pgChange(head string, columns []*driver.Column, guard string) frame {
	return newFrame(head, columns, ` WHERE t."id" = c."id" AND `+guard+" RETURNING c.n")
}

// insert adds rows with one statement.
func (t *postgresTable) insert(ctx context.Context, x *tx, rows []driver.Row, done inserted) error {
	large := len(rows) >= manyRows
	if large && !x.joined && !x.again && t.insertFast.worthwhile() {
		err := x.insertBy(ctx, &t.insertNew, rows, done)
		if err == nil || x.store.cfg.Classify(err) != Unique {
			return err
		}
		t.insertFast.failed()
		return &failure{op: "insert into " + t.schema.Name, class: Serialization, means: driver.ErrBusy, cause: err}
	}
	added := 0
	err := x.insertBy(ctx, &t.insertion, rows, func(id int64, scope driver.Scope, key string) error {
		added++
		return done(id, scope, key)
	})
	if err == nil && large {
		t.insertFast.observe(added == len(rows))
	}
	return err
}

// change is one statement, which answers with the places of the rows it hit, from 1.
func (t *postgresTable) change(ctx context.Context, x *tx, change changeKind, lead []any, rows []driver.Row) ([]bool, error) {
	s, err := t.changes[change].statement(lead, rows)
	if err != nil {
		return nil, err
	}
	hits := make([]bool, len(rows))
	return hits, x.query(ctx, s, func(r Rows) error {
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

func (x *tx) insertBy(ctx context.Context, f *frame, rows []driver.Row, done inserted) error {
	s, err := f.statement(nil, rows)
	if err != nil {
		return err
	}
	return x.query(ctx, s, scanInserted(done))
}

// claim takes due rows with one statement, from each lane along the due index. The ARRAY keeps the planner
// from a join that flips to a sequential scan. Lease and token are alike for all
// rows, and not told.
func (t *postgresTable) claim(ctx context.Context, x *tx, c *driver.Claim) ([]driver.Row, error) {
	s := shapeOf(c)
	text := t.shaped(s, func(s shape) string {
		return "UPDATE " + t.name + claimSet + ` WHERE "id" = ANY(ARRAY(SELECT c."id"` + pgLanes +
			fmt.Sprintf(pgLane, `"id"`, t.name, t.due(s), "l.n FOR UPDATE SKIP LOCKED") + ")) RETURNING " + t.unknown
	})
	args := append(t.setArgs(c), laneArrays(c.Lanes, true)...)
	return x.rows(ctx, statement{text, append(args, t.dueArgs(c, c.Now)...)}, t.schema, t.claimed)
}

// next answers with the lane, the due moment and the id of the first row that c would claim
// in each lane by its Now.
func (t *postgresTable) next(c *driver.Claim) statement {
	s := shapeOf(c)
	s.next = true
	text := t.shaped(s, func(s shape) string {
		return `SELECT l.lane, c."due_on", c."id" FROM unnest(?::smallint[], ?::timestamptz[], ?::bigint[]) AS l(lane, due, id),` +
			fmt.Sprintf(pgLane, `"due_on", t."id"`, t.name, t.due(s), "1")
	})
	return statement{text, append(laneArrays(c.Lanes, false), t.dueArgs(c, c.Now)...)}
}

// pgLanes are lanes, each with where it begins and how much is taken.
const pgLanes = " FROM unnest(?::smallint[], ?::timestamptz[], ?::bigint[], ?::bigint[]) AS l(lane, due, id, n),"

// pgLane walks the due order of one lane l.
const pgLane = ` LATERAL (SELECT t.%s FROM %s AS t WHERE t."lane" = l.lane` +
	` AND (t."due_on", t."id") > (l.due, l.id) AND %s ORDER BY t."due_on", t."id" LIMIT %s) AS c`

// fastPath says whether a large INSERT into a table is expected to meet no row
// that has one of its keys. PostgreSQL then need not look for each key before it
// inserts the row, nor mark the row until it has: an eighth of what an Ensure of
// new rows takes. If a key is taken after all, the statement fails and the store
// runs its transaction again, asking; so a host's transaction never takes this path.
//
// The zero value does not take it yet. It is used by many goroutines.
type fastPath struct{ streak atomic.Int32 }

const (
	// enoughFresh is how many large INSERTs in a row met no taken key.
	enoughFresh = 4
	// afterFailure is where the count begins after one that failed, since the
	// server has written an error into its log.
	afterFailure = enoughFresh - 64
)

func (o *fastPath) worthwhile() bool { return o.streak.Load() >= enoughFresh }

// observe records whether a large INSERT met no taken key.
func (o *fastPath) observe(none bool) {
	switch streak := o.streak.Load(); { // who loses a swap has learned from another
	case none && streak < enoughFresh:
		o.streak.CompareAndSwap(streak, streak+1)
	case !none && streak > 0:
		o.streak.CompareAndSwap(streak, 0)
	}
}

// failed records that a statement failed which expected none.
func (o *fastPath) failed() { o.streak.Store(afterFailure) }
