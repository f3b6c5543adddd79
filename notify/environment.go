package notify

import (
	"context"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
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

func (*environment) name() string { return "environment" }

// copied reports whether the database is a copy, from a reading that is no older
// than identityAge.
func (e *environment) copied(ctx context.Context) (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := storage.Now(e.store)
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
	stored, err := storage.StoredIdentity(ctx, tx)
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
