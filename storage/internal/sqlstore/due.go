package sqlstore

import (
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// claimSet is what a claim changes in a row; SET sees the old lease.
const claimSet = ` SET "status" = COALESCE(?, "status"), "version" = "version" + 1,` +
	` "abandoned" = ("lease_expires_on" IS NOT NULL), "lease_expires_on" = ?, "claim_token" = ?`

// due is the condition that a claim takes a row t, whatever its lane: due, of no scope
// left out, and free or with an expired lease, of a type served here. What is left out
// comes first, since a claim behind a flood passes over many such rows.
// PostgreSQL's planner takes a CASE for true in half of the rows. What it guesses
// about the conditions in it, from old statistics or none, would make it fetch
// and sort all due rows for each claim.
func (t *tableText) due(s shape) string {
	in, scoped := t.dialect.in, t.dialect.scoped
	text := `t."due_on" <= ? AND CASE WHEN `
	if s.exceptKinds {
		text += "NOT " + scoped("kind") + " AND "
	}
	if s.except {
		text += "NOT " + in(`t."scope"`, driver.Text) + " AND "
	}
	if s.names != "" {
		text += "NOT " + in("t."+quote(s.names), driver.Text) + " AND NOT " + scoped(s.names) + " AND "
	}
	text += `(t."lease_expires_on" <= ? OR t."lease_expires_on" IS NULL AND ` + in(`t."status"`, driver.Text) + `)`
	if s.kinds {
		text += " AND " + in(`t."kind"`, driver.Text)
	}
	if s.scopes {
		text += " AND " + in(`t."scope"`, driver.Text)
	}
	return text + " THEN TRUE ELSE FALSE END"
}

// dueArgs are the parameters of due, for what is due by a moment.
func (t *tableText) dueArgs(c *driver.Claim, by time.Time) []any {
	v, pairs := t.dialect.value, t.dialect.pairs
	args := []any{v(driver.Time(by))}
	if len(c.ExceptKinds) > 0 {
		args = append(args, pairs(c.ExceptKinds))
	}
	if len(c.Except) > 0 {
		args = append(args, v(texts(c.Except)))
	}
	if k := c.ExceptNames; k.Column != "" {
		args = append(args, v(append([]string{}, k.Names...)), pairs(k.Scoped))
	}
	args = append(args, v(driver.Time(c.ExpiredBy(c.Now))), v(c.Statuses))
	if c.Kinds != nil {
		args = append(args, v(c.Kinds))
	}
	if c.Scopes != nil {
		args = append(args, v(texts(c.Scopes)))
	}
	return args
}

func texts(scopes []driver.Scope) []string {
	out := make([]string, len(scopes))
	for i, s := range scopes {
		out[i] = string(s)
	}
	return out
}

// setArgs are the parameters of claimSet.
func (t *tableText) setArgs(c *driver.Claim) []any {
	var busy any
	if c.Busy != "" {
		busy = c.Busy
	}
	return []any{busy, t.dialect.value(driver.Time(c.LeaseUntil)), c.Token}
}
