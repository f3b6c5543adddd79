package notify

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// environment is the gate that keeps a copy of a database from sending. It is
// asked first.
type environment struct {
	store storage.Store

	mu     sync.Mutex
	id     storage.Identity
	readOn time.Time // zero: never yet
}

// identityAge is how old the reading of an identity may be: a database can be
// replaced under a running process.
const identityAge = time.Minute

func (*environment) Name() string { return "environment" }

// copied reports whether the database is a copy, from a reading that is no older
// than identityAge.
func (e *environment) copied(ctx context.Context) (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := driver.Now(e.store)
	if age := now.Sub(e.readOn); !e.readOn.IsZero() && age >= 0 && age < identityAge {
		return e.id.Copied(), nil
	}
	id, err := e.store.Identity(ctx)
	if err != nil {
		return true, err
	}
	e.id, e.readOn = id, now
	return id.Copied(), nil
}

// prepare reads the identity before anything is claimed.
func (e *environment) prepare(ctx context.Context) error {
	_, err := e.copied(ctx)
	return err
}

// quarantined is what a claim asks in its transaction. While the database is a
// copy it looks whether somebody has adopted it meanwhile, in any process.
func (e *environment) quarantined(ctx context.Context, tx storage.Tx) (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.readOn.IsZero():
		return true, nil
	case !e.id.Copied():
		return false, nil
	}
	stored, err := driver.StoredIdentity(ctx, tx)
	if err != nil {
		return true, err
	}
	e.id.Environment, e.id.System = stored.Environment, stored.System
	return e.id.Copied(), nil
}

// except keeps a pass from claiming anything in a copy.
func (e *environment) except(ctx context.Context, tx storage.Tx) (work.Except, error) {
	all, err := e.quarantined(ctx, tx)
	return work.Except{All: all}, err
}

// Ask gives back what was claimed before the database turned out to be a copy:
// it is claimed again after the release.
func (e *environment) Ask(ctx context.Context, a []Attempt) ([]Verdict, error) {
	copied, err := e.copied(ctx)
	if err != nil {
		return nil, err
	}
	if !copied {
		return make([]Verdict, len(a)), nil
	}
	return allOf(len(a), Defer(a[0].Now, ReasonQuarantine)), nil
}

// Quarantined reports whether the database is a copy of another environment's,
// or was moved to another system: messages are made and shown then, and none is
// sent, nor a provider asked about one (see storage.Identity).
func (n Support) Quarantined(ctx context.Context) (bool, error) {
	id, err := n.store.Identity(ctx)
	if err != nil {
		return true, fmt.Errorf("notify: Quarantined: %w", err)
	}
	return id.Copied(), nil
}

// ReleaseQuarantine says that a copied database is to send from now on, under the
// name that this process gives it and on the system that it is on: every message
// that waits goes out, from the next poll of every process on. Who opens the
// database as before is quarantined in turn. It is audited, and refused
// ([ErrActionRefused]) where nothing is in quarantine.
func (n Support) ReleaseQuarantine(ctx context.Context, by By) error {
	if err := by.Check(); err != nil {
		return fmt.Errorf("notify: ReleaseQuarantine: %w", err)
	}
	id, err := n.store.Identity(ctx)
	if err != nil {
		return fmt.Errorf("notify: ReleaseQuarantine: %w", err)
	}
	if !id.Copied() {
		return fmt.Errorf("notify: ReleaseQuarantine: %w: the database is no copy", ErrActionRefused)
	}
	err = n.store.InTx(ctx, func(tx storage.Tx) error {
		row, err := driver.Adopt(ctx, tx, id)
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
