package automation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/pause"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

// Pause says that the due work of an Extent is not begun at present.
type Pause struct {
	Extent
	By    By        // who paused it, and why
	Since time.Time // UTC
	Until time.Time // UTC, when it ends by itself; zero: when somebody resumes it
}

// pauses has one row for each Extent that was ever paused.
var pauses = storage.Define[pause.Row]("automation_pause").Limit(maxRow)

// Pause keeps the due work of e from being begun, in every process from its next
// poll on, until it is resumed or until has come; a zero until is never. Rows are
// made, moved and ended as before, and those that fall due wait: what they find
// when the pause is over is up to their type's [Lateness]. What a worker has
// already is finished, and what was handed to delivery goes out. Several pauses
// may cover a row; it runs when none does.
//
// A pause that exists gets the new end, or is refused ([ErrActionRefused]) if
// that is the one it has. It is audited in the same transaction, as Resume is.
func (s *Scheduler) Pause(ctx context.Context, e Extent, until time.Time, by By) error {
	if until = storage.Time(until); !until.IsZero() && !until.After(s.now()) {
		return fmt.Errorf("automation: Pause: until %s has passed", stampText(until))
	}
	return s.changePause(ctx, e, by, func(tx storage.Tx) error { return pause.Begin(ctx, tx, pauses, e.row(), until, by) })
}

// Resume ends the pause of exactly this extent. The error wraps
// [ErrActionRefused] if there is none.
func (s *Scheduler) Resume(ctx context.Context, e Extent, by By) error {
	return s.changePause(ctx, e, by, func(tx storage.Tx) error { return pause.End(ctx, tx, pauses, e.row(), by) })
}

func (s *Scheduler) changePause(ctx context.Context, e Extent, by By, change func(storage.Tx) error) error {
	if err := e.check(); err != nil {
		return err
	}
	if err := by.Check(); err != nil {
		return fmt.Errorf("automation: %w", err)
	}
	if err := s.inTx(ctx, change); err != nil {
		return fmt.Errorf("automation: %w", err)
	}
	return nil
}

// Pauses lists the pauses that hold in a scope now, those everywhere first.
func (s *Scheduler) Pauses(ctx context.Context, scope Scope) ([]Pause, error) {
	if scope == storage.AnyScope {
		return nil, errAnyScope
	}
	var out []Pause
	err := s.inTx(ctx, func(tx storage.Tx) (err error) {
		out, err = pausesOf(ctx, tx, scope)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("automation: Pauses: %w", err)
	}
	return out, nil
}

// pausesOf reads what Pauses lists.
func pausesOf(ctx context.Context, tx storage.Tx, scope Scope) ([]Pause, error) {
	everywhere, err := pause.InForce(ctx, tx, pauses, "", storage.Eq("everywhere", true))
	if err != nil {
		return nil, err
	}
	here, err := pause.InForce(ctx, tx, pauses, scope, storage.Eq("everywhere", false))
	var out []Pause
	for _, p := range slices.Concat(everywhere, here) {
		out = append(out, Pause{Extent: extentOf(p), By: p.By(), Since: p.PausedOn, Until: p.PausedUntil})
	}
	return out, err
}

// paused tells the due pass what to leave alone, in all scopes.
func (s *Scheduler) paused(ctx context.Context, tx storage.Tx) (work.Except, error) {
	var e work.Except
	rows, err := pause.InForce(ctx, tx, pauses, storage.AnyScope)
	for _, p := range rows {
		switch {
		case p.Everywhere && p.PausedType == "":
			e.All = true
		case p.Everywhere:
			e.Types = append(e.Types, p.PausedType)
		case p.PausedType == "":
			e.Scopes = append(e.Scopes, p.Scope)
		default:
			e.Scoped = append(e.Scoped, storage.ScopedType{Scope: p.Scope, Type: p.PausedType})
		}
	}
	return e, err
}
