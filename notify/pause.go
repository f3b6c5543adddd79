package notify

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/pause"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
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
	// Type is a type of notification, Channel the key of a channel. At most one of them is
	// set.
	Type, Channel string
}

// row names the part in the table of pauses.
func (e Extent) row() (pause.Row, error) {
	kind := "all"
	switch {
	case e.Type != "" && e.Channel != "":
		return pause.Row{}, errors.New("Extent: a Type, and a Channel")
	case e.Type != "":
		kind = "type:" + e.Type
	case e.Channel != "":
		kind = "channel:" + e.Channel
	}
	if _, err := keys.Join(kind); err != nil {
		return pause.Row{}, fmt.Errorf("Extent: %w", err)
	}
	row, err := pause.Part(e.Scope, e.Everywhere, kind)
	row.Kind, row.PausedType = e.Channel, e.Type
	return row, err
}

func extentOf(p *pause.Row) Extent {
	return Extent{Scope: p.Scope, Everywhere: p.Everywhere, Type: p.PausedType, Channel: p.Kind}
}

// covers reports whether the message of an attempt belongs to e.
func (e Extent) covers(a *gate.Attempt) bool {
	return (e.Everywhere || e.Scope == a.Scope) &&
		(e.Type == "" || e.Type == a.NotificationType) && (e.Channel == "" || e.Channel == a.Channel)
}

// Pause says that the messages of an Extent are not sent at present.
type Pause struct {
	Extent
	By    By        // who paused it, and why
	Since time.Time // UTC
	Until time.Time // UTC, when it ends by itself; zero: when a person resumes it
}

// pauses has one row for each Extent that was ever paused. Its Type is the channel.
var pauses = driver.Define[pause.Row]("notification_pause").Grows(driver.Bounded).
	Kept(driver.Always, "one for each part of the work that was ever paused").Limit(4 << 10)

// Pause keeps the messages of e from being sent, in every process from its next
// poll on, until it is resumed or until has come; a zero until is never. Messages
// are made as before and wait. Several pauses may cover a message; it goes out
// when none does.
//
// A type or channel that no process has or had, and of which nothing waits, is refused: it
// is misspelt. A pause that exists gets the new end, or is refused ([ErrActionRefused]) if
// that is the one it has. It is audited in the same transaction, as Resume is.
func (n Support) Pause(ctx context.Context, e Extent, until time.Time, by By) error {
	return n.changePause(ctx, e, by, func(tx storage.Tx, row pause.Row) error {
		if err := n.checkKnown(ctx, tx, e); err != nil {
			return err
		}
		return pause.Begin(ctx, tx, pauses, row, until, by)
	})
}

// Resume ends the pause of exactly this extent, from the next poll of every
// process on. The error wraps [ErrActionRefused] if there is none.
func (n Support) Resume(ctx context.Context, e Extent, by By) error {
	return n.changePause(ctx, e, by, func(tx storage.Tx, row pause.Row) error { return pause.End(ctx, tx, pauses, row, by) })
}

func (n Support) changePause(ctx context.Context, e Extent, by By, change func(storage.Tx, pause.Row) error) error {
	row, err := e.row()
	if err == nil {
		err = by.Check()
	}
	if err == nil {
		err = n.inTx(ctx, nil, func(tx storage.Tx) error { return change(tx, row) })
	}
	if err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	return nil
}

// Pauses lists the pauses that hold in a scope now, those everywhere first.
func (n Support) Pauses(ctx context.Context, scope Scope) ([]Pause, error) {
	var rows []*pause.Row
	err := n.read(ctx, nil, func(from driver.Reader) (err error) {
		rows, err = pause.InForce(ctx, from, pauses, scope)
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
func pausedIn(ctx context.Context, from driver.Reader) ([]Extent, error) {
	rows, err := pause.InForceEverywhere(ctx, from, pauses)
	out := make([]Extent, len(rows))
	for i, p := range rows {
		out[i] = extentOf(p)
	}
	return out, err
}

// notNow tells the distributor which messages to leave alone.
func (n *core) notNow(ctx context.Context, from driver.Reader) (work.Except, error) {
	out, err := n.environment.except(ctx, from)
	if err != nil || out.All {
		return out, err
	}
	paused, err := pausedIn(ctx, from)
	n.watch.pausedNow(paused)
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
	return out, n.outNow(ctx, from, &out)
}

// environment is the gate that keeps a copy of a database from sending, and one that has
// forgotten what was sent. It is asked first.
type environment struct {
	store storage.Store

	mu     sync.Mutex
	id     storage.Identity
	readOn time.Time   // zero: never yet
	last   driver.Loss // what the store had found by then
}

// identityAge is how old the reading of an identity may be: a database can be
// replaced under a running process.
const identityAge = time.Minute

func (*environment) Name() string { return "environment" }

// held reports whether the database is in quarantine, from a reading that is no older
// than identityAge, and knows what the store has found since.
func (e *environment) held(ctx context.Context) (bool, error) {
	now, last := driver.Now(e.store), e.store.Losses().Last()
	if id, known := e.known(now, last); known {
		return id.Quarantined(), nil
	}
	id, err := e.store.Identity(ctx) // may write: a claim that asks meanwhile does not wait for it
	if err != nil {
		return true, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.id, e.readOn, e.last = id, now, last
	return id.Quarantined(), nil
}

// known is the last reading, if it is young enough and the store has found nothing since.
func (e *environment) known(now time.Time, last driver.Loss) (driver.Identity, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	age := now.Sub(e.readOn)
	return e.id, !e.readOn.IsZero() && age >= 0 && age < identityAge && last == e.last
}

// prepare reads the identity before anything is claimed.
func (e *environment) prepare(ctx context.Context) error {
	_, err := e.held(ctx)
	return err
}

// quarantined is what a claim asks in its transaction. While the database is held it
// looks whether it was released meanwhile, in any process.
func (e *environment) quarantined(ctx context.Context, from driver.Reader) (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	last := e.store.Losses().Last()
	switch news := e.id.StopOnLoss && last != e.last; {
	case e.readOn.IsZero(), news && e.store.Losses().Found().Open(): // not stored yet
		return true, nil
	case !news && !e.id.Quarantined():
		return false, nil
	}
	stored, err := driver.StoredIdentity(ctx, from)
	if err != nil {
		return true, err
	}
	e.id.Environment, e.id.System, e.id.Loss, e.last = stored.Environment, stored.System, stored.Loss, last
	return e.id.Quarantined(), nil
}

// loss is what the database has forgotten, if the host wants it to stop then: released or
// not, it is unknown of what was due by then whether it was sent.
func (e *environment) loss() driver.Loss {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.id.StopOnLoss {
		return driver.Loss{}
	}
	if last := e.store.Losses().Last(); last != e.last { // found since it was read
		return last
	}
	return e.id.Loss
}

// except keeps a pass from claiming anything in quarantine.
func (e *environment) except(ctx context.Context, from driver.Reader) (work.Except, error) {
	all, err := e.quarantined(ctx, from)
	return work.Except{All: all}, err
}

// Ask gives back what was claimed before the database turned out to be a copy, or to have
// forgotten: it is claimed again after the release.
func (e *environment) Ask(ctx context.Context, a []gate.Attempt) ([]gate.Verdict, error) {
	held, err := e.held(ctx)
	if err != nil {
		return nil, err
	}
	if !held {
		return make([]gate.Verdict, len(a)), nil
	}
	return allOf(len(a), gate.Defer(a[0].Now, reasons.Quarantine)), nil
}

// Quarantined reports whether the database is a copy of another environment's,
// was moved to another system, or has forgotten commits and the store's StopOnLoss is
// set: messages are made and shown then, and none is sent, nor a provider asked about one
// (see storage.Identity).
func (n Support) Quarantined(ctx context.Context) (bool, error) {
	id, err := n.store.Identity(ctx)
	if err != nil {
		return true, fmt.Errorf("notify: Quarantined: %w", err)
	}
	return id.Quarantined(), nil
}

// ReleaseQuarantine says that a copied database is to send from now on, under the
// name that this process gives it and on the system that it is on: every message
// that waits goes out, from the next poll of every process on. Who opens the
// database as before is quarantined in turn.
//
// It also ends the alarm about commits that the database has forgotten. With the store's
// StopOnLoss, messages that were due by then and are not known to be sent come into doubt
// ([reasons.Forgotten]) instead of going out.
//
// It is audited, and refused ([ErrActionRefused]) where there is neither.
func (n Support) ReleaseQuarantine(ctx context.Context, by By) error {
	if err := by.Check(); err != nil {
		return fmt.Errorf("notify: ReleaseQuarantine: %w", err)
	}
	id, err := n.store.Identity(ctx)
	if err != nil {
		return fmt.Errorf("notify: ReleaseQuarantine: %w", err)
	}
	if !id.Copied() && !id.Loss.Open() {
		return fmt.Errorf("notify: ReleaseQuarantine: %w: the database is not a copy, and has forgotten nothing", ErrActionRefused)
	}
	err = n.store.InTx(ctx, func(tx storage.Tx) error {
		row, err := driver.Adopt(ctx, tx, id, driver.Now(n.store))
		if err != nil {
			return err
		}
		return audit.Write(ctx, tx, &audit.Entry{
			Subject: "store_identity", SubjectKey: row.Key, SubjectID: row.ID, SubjectVersion: row.Version,
			Action: "ReleaseQuarantine", Actor: by.Actor, Reason: by.Reason,
			From: id.Environment + "@" + id.System, To: id.Given + "@" + id.Present, On: driver.Now(n.store),
		})
	})
	if err != nil {
		return fmt.Errorf("notify: ReleaseQuarantine: %w", err)
	}
	return nil
}
