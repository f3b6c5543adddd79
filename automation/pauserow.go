package automation

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// The statuses of a pauseRow.
const (
	statusPaused  = "Paused"
	statusResumed = "Resumed"
)

// pauseRow is a row of automation_pause. It stays when the pause ends, so that
// its versions, which the audit names, go on. It is never due.
type pauseRow struct {
	storage.Record
	Everywhere  bool      `db:"everywhere,fixed"`
	PausedType  string    `db:"paused_type,fixed"`
	PausedBy    string    `db:"paused_by"`
	Reason      string    `db:"reason"`
	PausedOn    time.Time `db:"paused_on"`
	PausedUntil time.Time `db:"paused_until"` // zero: until somebody resumes it
}

var pauses = storage.Define[pauseRow]("automation_pause").Limit(maxRow)

func newPauseRow(e Extent) *pauseRow {
	return &pauseRow{
		Record:     storage.Record{Scope: e.Scope, Key: e.key(), Status: statusResumed},
		Everywhere: e.Everywhere, PausedType: e.Type,
	}
}

// inForce reports whether the pause keeps rows from being claimed.
func (p *pauseRow) inForce(now time.Time) bool {
	return p.Status == statusPaused && (p.PausedUntil.IsZero() || p.PausedUntil.After(now))
}

// pause begins a pause, or moves its end. It returns why it refuses.
func (p *pauseRow) pause(now, until time.Time, by By) string {
	if p.inForce(now) && p.PausedUntil.Equal(until) {
		return fmt.Sprintf("%s has paused it already", p.PausedBy)
	}
	if !p.inForce(now) {
		p.PausedOn = now
	}
	p.Status, p.PausedUntil, p.PausedBy, p.Reason = statusPaused, until, by.Actor, by.Reason
	return ""
}

// resume ends a pause. It returns why it refuses.
func (p *pauseRow) resume(now time.Time) string {
	if !p.inForce(now) {
		return "it is not paused"
	}
	p.Status = statusResumed
	return ""
}

func (p *pauseRow) public() Pause {
	return Pause{
		Extent: Extent{Scope: p.Scope, Everywhere: p.Everywhere, Type: p.PausedType},
		By:     By{Actor: p.PausedBy, Reason: p.Reason}, Since: p.PausedOn, Until: p.PausedUntil,
	}
}

// pausesPage is how many pauses are read in one statement.
const pausesPage = 1000

// pausesInForce reads the pauses of a scope that meet where and hold now.
func pausesInForce(ctx context.Context, tx storage.Tx, scope Scope, where ...storage.Cond) (out []*pauseRow, err error) {
	where = append(where, storage.Eq("status", statusPaused),
		storage.Any(storage.Null("paused_until"), storage.Greater("paused_until", storage.Now(tx.Store()))))
	var after *storage.Position
	for {
		page, err := pauses.Find(ctx, tx, scope, storage.Query{Where: where, Limit: pausesPage, After: after})
		if out = append(out, page...); err != nil || len(page) < pausesPage {
			return out, err
		}
		after = &storage.Position{ID: page[len(page)-1].ID}
	}
}
