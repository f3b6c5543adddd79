package sqltext

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/belfry-go/belfry/storage/driver"
)

// claimSet is what a claim changes in a row; SET sees the old lease.
const claimSet = ` SET "status" = COALESCE(?, "status"), "version" = "version" + 1,` +
	` "abandoned" = ("lease_expires_on" IS NOT NULL), "lease_expires_on" = ?, "claim_token" = ?`

// stage is how many entries of the due index a scout walks over at a time.
const stage = 5000

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
func (t *Table) due(s shape) string {
	in := t.dialect.words.in
	text := `t."due_on" <= ? AND CASE WHEN (t."lease_expires_on" <= ?` +
		` OR t."lease_expires_on" IS NULL AND ` + in(`t."status"`, driver.Text) + `)`
	if s.kinds {
		text += " AND " + in(`t."kind"`, driver.Text)
	}
	if s.scopes {
		text += " AND " + in(`t."scope"`, driver.Text)
	}
	if s.except {
		text += " AND NOT " + in(`t."scope"`, driver.Text)
	}
	if s.exceptKinds {
		text += " AND NOT " + in(scoped("kind"), driver.Text)
	}
	if s.names != "" {
		text += " AND NOT " + in("t."+quote(s.names), driver.Text) + " AND NOT " + in(scoped(s.names), driver.Text)
	}
	if s.newer {
		text += ` AND t."id" > ?`
	}
	return text + " THEN TRUE ELSE FALSE END"
}

// dueArgs are the parameters of due, for what is due by a moment.
func (t *Table) dueArgs(c *driver.Claim, by time.Time) []any {
	v := t.dialect.words.value
	args := []any{v(driver.Time(by)), v(driver.Time(c.ExpiredBy(c.Now))), v(c.Statuses)}
	if c.Kinds != nil {
		args = append(args, v(c.Kinds))
	}
	if c.Scopes != nil {
		args = append(args, v(texts(c.Scopes)))
	}
	if len(c.Except) > 0 {
		args = append(args, v(texts(c.Except)))
	}
	if len(c.ExceptKinds) > 0 {
		args = append(args, v(pairs(c.ExceptKinds)))
	}
	if k := c.ExceptNames; k.Column != "" {
		args = append(args, v(append([]string{}, k.Names...)), v(pairs(k.Scoped)))
	}
	if c.NewerThan != 0 {
		args = append(args, c.NewerThan)
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

// pairs are the texts of scoped.
func pairs(all []driver.ScopedKind) []string {
	out := make([]string, len(all))
	for i, e := range all {
		out[i] = fmt.Sprint(utf8.RuneCountInString(string(e.Scope)), ":", e.Scope, e.Kind)
	}
	return out
}

// setArgs are the parameters of claimSet.
func (t *Table) setArgs(c *driver.Claim) []any {
	var busy any
	if c.Busy != "" {
		busy = c.Busy
	}
	return []any{busy, t.dialect.words.value(driver.Time(c.LeaseUntil)), c.Token}
}
