package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/pause"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Extent is the part of the sending that a [Pause] concerns: a type of
// notification, a channel, or everything, in one scope or everywhere. The zero
// value is all that the empty scope sends.
type Extent struct {
	Scope Scope // the tenant; empty if Everywhere
	// Everywhere means every scope.
	Everywhere bool
	// Type is a type of notification, Channel the key of a channel, whether this
	// process knows them or not. At most one of them is set.
	Type, Channel string
}

// row names the part in the table of pauses.
func (e Extent) row() (pause.Row, error) {
	key := "all"
	switch {
	case e.Everywhere && e.Scope != "":
		return pause.Row{}, errors.New("notify: Extent: a Scope, and Everywhere")
	case e.Type != "" && e.Channel != "":
		return pause.Row{}, errors.New("notify: Extent: a Type, and a Channel")
	case e.Type != "":
		key = "type:" + e.Type
	case e.Channel != "":
		key = "channel:" + e.Channel
	}
	if e.Everywhere {
		key = "everywhere:" + key
	}
	if _, err := keys.Join(key); err != nil {
		return pause.Row{}, fmt.Errorf("notify: Extent: %w", err)
	}
	return pause.Row{
		Record:     storage.Record{Scope: e.Scope, Key: key, Kind: e.Channel},
		Everywhere: e.Everywhere, PausedType: e.Type,
	}, nil
}

func extentOf(p *pause.Row) Extent {
	return Extent{Scope: p.Scope, Everywhere: p.Everywhere, Type: p.PausedType, Channel: p.Kind}
}

// covers reports whether the message of an attempt belongs to e.
func (e Extent) covers(a *Attempt) bool {
	return (e.Everywhere || e.Scope == a.Scope) &&
		(e.Type == "" || e.Type == a.NotificationType) && (e.Channel == "" || e.Channel == a.Channel)
}

// Pause says that the messages of an Extent are not sent at present.
type Pause struct {
	Extent
	By    By        // who paused it, and why
	Since time.Time // UTC
	Until time.Time // UTC, when it ends by itself; zero: when somebody resumes it
}

// pauses has one row for each Extent that was ever paused. Its Type is the channel.
var pauses = driver.Define[pause.Row]("notification_pause").Grows(driver.Bounded).Limit(4 << 10)

// Pause keeps the messages of e from being sent, in every process from its next
// poll on, until it is resumed or until has come; a zero until is never. Messages
// are made as before and wait. Several pauses may cover a message; it goes out
// when none does.
//
// A pause that exists gets the new end, or is refused ([ErrActionRefused]) if
// that is the one it has. It is audited in the same transaction, as Resume is.
func (n Support) Pause(ctx context.Context, e Extent, until time.Time, by By) error {
	if until = driver.Time(until); !until.IsZero() && !until.After(driver.Now(n.store)) {
		return fmt.Errorf("notify: Pause: until %s has passed", until.Format(time.RFC3339))
	}
	return n.changePause(ctx, e, by, func(tx storage.Tx, row pause.Row) error { return pause.Begin(ctx, tx, pauses, row, until, by) })
}

// Resume ends the pause of exactly this extent, from the next poll of every
// process on. The error wraps [ErrActionRefused] if there is none.
func (n Support) Resume(ctx context.Context, e Extent, by By) error {
	return n.changePause(ctx, e, by, func(tx storage.Tx, row pause.Row) error { return pause.End(ctx, tx, pauses, row, by) })
}

func (n Support) changePause(ctx context.Context, e Extent, by By, change func(storage.Tx, pause.Row) error) error {
	row, err := e.row()
	if err != nil {
		return err
	}
	if err := by.Check(); err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	if err := n.inTx(ctx, nil, func(tx storage.Tx) error { return change(tx, row) }); err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	return nil
}

// Pauses lists the pauses that hold in a scope now, those everywhere first.
func (n Support) Pauses(ctx context.Context, scope Scope) ([]Pause, error) {
	var rows []*pause.Row
	err := n.inTx(ctx, nil, func(tx storage.Tx) (err error) {
		if rows, err = pause.InForce(ctx, tx, pauses, "", driver.Eq("everywhere", true)); err != nil {
			return err
		}
		here, err := pause.InForce(ctx, tx, pauses, scope, driver.Eq("everywhere", false))
		rows = append(rows, here...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("notify: Pauses: %w", err)
	}
	out := make([]Pause, len(rows))
	for i, p := range rows {
		out[i] = Pause{Extent: extentOf(p), By: p.By(), Since: p.PausedOn, Until: p.PausedUntil}
	}
	return out, nil
}

// pausedIn reads what is paused, in all scopes.
func pausedIn(ctx context.Context, tx storage.Tx) ([]Extent, error) {
	rows, err := pause.InForceEverywhere(ctx, tx, pauses)
	out := make([]Extent, len(rows))
	for i, p := range rows {
		out[i] = extentOf(p)
	}
	return out, err
}

// notNow tells the distributor which messages to leave alone.
func (n *core) notNow(ctx context.Context, tx storage.Tx) (work.Except, error) {
	out, err := n.environment.except(ctx, tx)
	if err != nil || out.All {
		return out, err
	}
	paused, err := pausedIn(ctx, tx)
	for _, e := range paused {
		switch {
		case e.Type != "" && e.Everywhere:
			out.Kinds.Names = append(out.Kinds.Names, e.Type)
		case e.Type != "":
			out.Kinds.Scoped = append(out.Kinds.Scoped, driver.ScopedKind{Scope: e.Scope, Kind: e.Type})
		case e.Channel != "" && e.Everywhere:
			out.Types = append(out.Types, e.Channel)
		case e.Channel != "":
			out.Scoped = append(out.Scoped, driver.ScopedKind{Scope: e.Scope, Kind: e.Channel})
		case e.Everywhere:
			out.All = true
		default:
			out.Scopes = append(out.Scopes, e.Scope)
		}
	}
	if len(out.Kinds.Names)+len(out.Kinds.Scoped) > 0 {
		out.Kinds.Column = "notification_type"
	}
	if err != nil {
		return out, err
	}
	return out, n.outNow(ctx, tx, &out)
}

// pauseGate gives back what was claimed before somebody paused it: it is claimed
// again when the pause is over.
type pauseGate struct{ store storage.Store }

func (pauseGate) Name() string { return "pauses" }

func (g pauseGate) Ask(ctx context.Context, a []Attempt) ([]Verdict, error) {
	var paused []Extent
	err := g.store.InTx(ctx, func(tx storage.Tx) (err error) {
		paused, err = pausedIn(ctx, tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]Verdict, len(a))
	for i := range a {
		if slices.ContainsFunc(paused, func(e Extent) bool { return e.covers(&a[i]) }) {
			out[i] = Defer(a[i].Now, ReasonPaused)
		}
	}
	return out, nil
}
