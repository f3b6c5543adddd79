// Package pause stores pauses: one row for each part of a domain's work that was ever
// paused. Claims leave the part out while the pause is in force. The domain defines the
// parts.
package pause

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// The statuses of a Row.
const (
	StatusPaused  = "Paused"
	StatusResumed = "Resumed"
)

// Row is a part of the work that was paused. It stays when the pause ends, so that
// its versions, which the audit names, go on. It is never due. Scope is empty if
// it is Everywhere, and Key is what the part is called within it.
type Row struct {
	storage.Record
	Everywhere  bool      `db:"everywhere,fixed"`
	PausedType  string    `db:"paused_type,fixed,plain"`
	PausedBy    string    `db:"paused_by,person"`
	Reason      string    `db:"reason,content"`
	PausedOn    time.Time `db:"paused_on"`
	PausedUntil time.Time `db:"paused_until"` // zero: until a person resumes it
}

// Part is the row of a part of the work that kind names: all of it, or a type. It is
// refused for a scope that is not to say anything.
func Part(scope storage.Scope, everywhere bool, kind string) (Row, error) {
	if everywhere && scope != "" {
		return Row{}, errors.New("a Scope, and Everywhere")
	}
	if everywhere {
		kind = "everywhere:" + kind
	}
	return Row{Record: storage.Record{Scope: scope, Key: kind}, Everywhere: everywhere}, nil
}

// By is who paused it, and why.
func (p *Row) By() audit.By { return audit.By{Actor: p.PausedBy, Reason: p.Reason} }

// inForce reports whether the pause keeps rows from being claimed.
func (p *Row) inForce(now time.Time) bool {
	return p.Status == StatusPaused && (p.PausedUntil.IsZero() || p.PausedUntil.After(now))
}

// pause begins a pause, or moves its end. It returns why it refuses.
func (p *Row) pause(now, until time.Time, by audit.By) string {
	if p.inForce(now) && p.PausedUntil.Equal(until) {
		return fmt.Sprintf("%s has paused it already", p.PausedBy)
	}
	if !p.inForce(now) {
		p.PausedOn = now
	}
	p.Status, p.PausedUntil, p.PausedBy, p.Reason = StatusPaused, until, by.Actor, by.Reason
	return ""
}

// resume ends a pause. It returns why it refuses.
func (p *Row) resume(now time.Time) string {
	if !p.inForce(now) {
		return "it is not paused"
	}
	p.Status = StatusResumed
	return ""
}

// Begin pauses a part, which part names by its Scope, Key and fixed columns, until a
// moment to come; zero is until a person resumes it. One that is paused gets the new end,
// or is refused if that is the one it has. It is audited.
func Begin(ctx context.Context, tx storage.Tx, t *driver.Table[Row], part Row, until time.Time, by audit.By) error {
	if until = driver.Time(until); !until.IsZero() && !until.After(driver.Now(tx.Store())) {
		return fmt.Errorf("until %s has passed", until.Format(time.RFC3339))
	}
	return change(ctx, tx, t, part, "Pause", by, func(p *Row, now time.Time) string { return p.pause(now, until, by) })
}

// End resumes a part, and is refused if that is not paused. It is audited.
func End(ctx context.Context, tx storage.Tx, t *driver.Table[Row], part Row, by audit.By) error {
	return change(ctx, tx, t, part, "Resume", by, func(p *Row, now time.Time) string { return p.resume(now) })
}

// change changes the row of part, which it makes if there never was one.
func change(ctx context.Context, tx storage.Tx, t *driver.Table[Row], part Row, action string, by audit.By, f func(*Row, time.Time) string) error {
	part.Status = StatusResumed
	if _, err := t.Insert(ctx, tx, &part); err != nil {
		return err
	}
	return audit.Change(ctx, tx, t, part.Scope, part.Key, action, by, f)
}

// page is how many pauses are read in one statement.
const page = 1000

// InForce reads the pauses that hold in a scope now, those everywhere first.
func InForce(ctx context.Context, from driver.Reader, t *driver.Table[Row], scope storage.Scope) ([]*Row, error) {
	everywhere, err := within(ctx, from, t, "", true)
	if err != nil {
		return nil, err
	}
	here, err := within(ctx, from, t, scope, false)
	return append(everywhere, here...), err
}

func within(ctx context.Context, from driver.Reader, t *driver.Table[Row], scope storage.Scope, everywhere bool) ([]*Row, error) {
	where := []driver.Cond{driver.Eq("everywhere", everywhere)}
	return inForce(from, where, func(q driver.Query) ([]*Row, error) { return t.Find(ctx, from, scope, q) })
}

// InForceEverywhere reads the pauses of all scopes that hold now.
func InForceEverywhere(ctx context.Context, from driver.Reader, t *driver.Table[Row]) ([]*Row, error) {
	return inForce(from, nil, func(q driver.Query) ([]*Row, error) { return t.Everywhere().Find(ctx, from, q) })
}

// FirstInForce reads a page of them, without who paused them and why.
func FirstInForce(ctx context.Context, from driver.Reader, t *driver.Table[Row]) ([]*Row, error) {
	return t.Everywhere().Find(ctx, from, driver.Query{
		Columns: []string{"kind", "everywhere", "paused_type", "paused_on", "paused_until"}, Where: holding(from, nil), Limit: page,
	})
}

// holding adds to where that a pause holds now.
func holding(from driver.Reader, where []driver.Cond) []driver.Cond {
	return append(where, driver.Eq("status", StatusPaused),
		driver.Any(driver.Null("paused_until"), driver.Greater("paused_until", driver.Now(from.Store()))))
}

func inForce(from driver.Reader, where []driver.Cond, find func(driver.Query) ([]*Row, error)) (out []*Row, err error) {
	where = holding(from, where)
	var after *driver.Position
	for {
		rows, err := find(driver.Query{Where: where, Limit: page, After: after})
		if out = append(out, rows...); err != nil || len(rows) < page {
			return out, err
		}
		after = &driver.Position{ID: rows[len(rows)-1].ID}
	}
}
