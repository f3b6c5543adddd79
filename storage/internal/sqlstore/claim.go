package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/belfry-go/belfry/storage/driver"
)

// Claim takes due rows. Databases promise no order of what a statement changed,
// so the rows are put into it here.
func (x *tx) Claim(ctx context.Context, s *driver.Schema, c driver.Claim) (rows []driver.Row, err error) {
	if x.joined {
		return nil, driver.ErrJoined
	}
	limit := 0
	for _, l := range c.Lanes {
		limit += max(l.Limit, 0)
	}
	if limit == 0 {
		return nil, x.usable(ctx)
	}
	rows, err = x.store.cfg.Dialect.verbs.claim(ctx, x, x.store.table(s), &c)
	if err != nil {
		return nil, x.fail(ctx, "claim from "+s.Name, err)
	}
	for _, r := range rows { // what the claim has just written
		rec := driver.RecordOf(r)
		rec.LeaseExpiresOn, rec.ClaimToken = driver.Time(c.LeaseUntil), c.Token
	}
	slices.SortFunc(rows, inClaimOrder(c.Lanes))
	return rows, nil
}

// inClaimOrder compares by lane as asked, then due moment and id.
func inClaimOrder(lanes []driver.LaneClaim) func(a, b driver.Row) int {
	place := func(lane int16) int {
		return slices.IndexFunc(lanes, func(l driver.LaneClaim) bool { return l.Lane == lane })
	}
	return func(a, b driver.Row) int {
		ra, rb := driver.RecordOf(a), driver.RecordOf(b)
		if ra.Lane != rb.Lane {
			return cmp.Compare(place(ra.Lane), place(rb.Lane))
		}
		return cmp.Or(ra.DueOn.Compare(rb.DueOn), cmp.Compare(ra.ID, rb.ID))
	}
}

// Next looks for the earliest due moment with one SELECT outside of any
// transaction; the limits of the lanes do not matter.
func (s *Store) Next(ctx context.Context, schema *driver.Schema, c driver.Claim, horizon time.Time) (next time.Time, err error) {
	if len(c.Lanes) == 0 {
		return next, ctx.Err()
	}
	c.Now = horizon
	text, args := s.cfg.Dialect.verbs.next(s.table(schema), &c)
	err = s.read(ctx, "next of "+schema.Name, text, args, func(r *sql.Rows) error {
		var v any
		for r.Next() {
			if err := r.Scan(&v); err != nil {
				return err
			}
		}
		next, _ = instant(v)
		return nil
	})
	return next, err
}

// read runs one SELECT outside of a transaction, again if the database is busy
// or the connection broke while it lay idle.
func (s *Store) read(ctx context.Context, op, text string, args []any, read func(*sql.Rows) error) error {
	idle := s.cfg.Reader.Stats().OpenConnections
	return s.repeat(ctx, lockTries, func() (Class, error) {
		x, err := s.open(ctx, s.cfg.Reader)
		if err != nil {
			return classOf(err), err
		}
		err = query(s.inside(ctx), x, text, args, read)
		if err == nil {
			_ = x.release(false)
			return Unknown, nil
		}
		f := s.failed(ctx, op, err)
		_ = x.release(f.class == Connection)
		if f.class == Connection && ctx.Err() == nil && idle > 0 {
			idle--
			return Busy, f
		}
		return f.class, f
	})
}

// claimSet is what a claim changes in a row; SET sees the old lease.
const claimSet = ` SET "status" = COALESCE(?, "status"), "version" = "version" + 1,` +
	` "abandoned" = ("lease_expires_on" IS NOT NULL), "lease_expires_on" = ?, "claim_token" = ?`

// scoped is a text that only rows of one scope with that column have: the length
// says where the scope ends. Both dialects count characters.
func scoped(column string) string {
	return `(length(t."scope") || ':' || t."scope" || t.` + quote(column) + `)`
}

// due is the condition that a claim takes a row t, whatever its lane: due, and
// free or with an expired lease, of a type served here, of no scope left out.
// PostgreSQL's planner takes a CASE for true in half of the rows. What it guesses
// about the conditions in it, from old statistics or none, would make it fetch
// and sort all due rows for each claim.
func (t *table) due(s shape) string {
	in := t.dialect.verbs.in
	text := `t."due_on" <= ? AND CASE WHEN (t."lease_expires_on" <= ?` +
		` OR t."lease_expires_on" IS NULL AND ` + in(`t."status"`, driver.Text) + `)`
	if s.types {
		text += " AND " + in(`t."type"`, driver.Text)
	}
	if s.except {
		text += " AND NOT " + in(`t."scope"`, driver.Text)
	}
	if s.exceptTypes {
		text += " AND NOT " + in(scoped("type"), driver.Text)
	}
	if s.kinds != "" {
		text += " AND NOT " + in("t."+quote(s.kinds), driver.Text) + " AND NOT " + in(scoped(s.kinds), driver.Text)
	}
	return text + " THEN TRUE ELSE FALSE END"
}

// dueArgs are the parameters of due at a moment.
func (t *table) dueArgs(c *driver.Claim, at time.Time) []any {
	v := t.dialect.verbs.value
	args := []any{v(driver.Time(at)), v(driver.Time(at)), v(c.Statuses)}
	if c.Types != nil {
		args = append(args, v(c.Types))
	}
	if len(c.Except) > 0 {
		scopes := make([]string, len(c.Except))
		for i, s := range c.Except {
			scopes[i] = string(s)
		}
		args = append(args, v(scopes))
	}
	if len(c.ExceptTypes) > 0 {
		args = append(args, v(pairs(c.ExceptTypes)))
	}
	if k := c.ExceptKinds; k.Column != "" {
		args = append(args, v(append([]string{}, k.Names...)), v(pairs(k.Scoped)))
	}
	return args
}

// pairs are the texts of scoped.
func pairs(all []driver.ScopedType) []string {
	out := make([]string, len(all))
	for i, e := range all {
		out[i] = fmt.Sprint(utf8.RuneCountInString(string(e.Scope)), ":", e.Scope, e.Type)
	}
	return out
}

// setArgs are the parameters of claimSet.
func (t *table) setArgs(c *driver.Claim) []any {
	var busy any
	if c.Busy != "" {
		busy = c.Busy
	}
	return []any{busy, t.dialect.verbs.value(driver.Time(c.LeaseUntil)), c.Token}
}
