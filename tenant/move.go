// Package tenant moves a tenant from one store to another one: to a second server, or from
// SQLite to PostgreSQL when a host grows. Nothing is lost and nothing is sent twice,
// wherever a move is cut off: it goes on when it is run again.
package tenant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// By says who acts and why.
type By = audit.By

// Errors of a move.
var (
	// ErrRefused: the move cannot begin, or go on, as things are. The error says why, and
	// what to do.
	ErrRefused = errors.New("tenant: move refused")
	// ErrLeft: the tenant has moved, but rows were written to the old store after Hold had
	// returned, beside rows that the new store has, too. They stay in the old store, and
	// [Report].Left counts them.
	ErrLeft = errors.New("tenant: rows are left in the old store")
)

// Phase is how far a move has come, in the view of one of its stores.
type Phase string

// The phases. In the old store a move is Copying, then Held, Switched and Moved; the new
// store says Arriving until the end, and then nothing.
const (
	// Copying: the tenant works in this store as ever. What has ended is copied.
	Copying Phase = "Copying"
	// Held: the tenant works nowhere. The rest is copied, and compared.
	Held Phase = "Held"
	// Switched: the tenant works in the other store. What is left here is removed.
	Switched Phase = "Switched"
	// Moved: the tenant works in the other store, and nothing is left here.
	Moved Phase = "Moved"
	// Arriving: the tenant comes here from another store, which says whether it has
	// switched.
	Arriving Phase = "Arriving"
)

// PhaseOf tells what a store knows of a move of the tenant; empty if there is none, or if
// it came here and stayed. A host with several processes asks it before it writes for a
// tenant, or once a second: in [Copying] the tenant is here, in [Held] it may not be
// written, in [Switched] and [Moved] it is in the new store.
func PhaseOf(ctx context.Context, store storage.Store, scope storage.Scope) (Phase, error) {
	head, err := headIn(ctx, store, scope)
	if err != nil {
		return "", fmt.Errorf("tenant: PhaseOf: %w", err)
	}
	if head == nil {
		return "", nil
	}
	return Phase(head.Status), nil
}

// Move says which tenant goes where. Both stores have the tables of this program. Their
// pollers may run; nothing else is written to the new store in this scope before Switch.
type Move struct {
	From, To storage.Store
	Scope    storage.Scope
	By       By // for the audit, in the new store
	// Hold has the host write no more for the tenant, in any process, and returns when
	// nothing is under way. Reads may go on. Provider callbacks are refused, so that
	// they come again. Nil: the host's programs do not run, or have stopped writing.
	Hold func(ctx context.Context) error
	// Switch has the host use To for the tenant from now on, and write again. Nil: the
	// host's programs are started with the new store. Hold and Switch may be called again
	// after a crash.
	Switch func(ctx context.Context) error
}

// Count is how many rows of a table there are.
type Count struct {
	Table string
	Rows  int
}

// Report says how far a move has come. What it counts was done by this run.
type Report struct {
	Phase Phase
	// Tables are the rows that both stores have, by table; of a Preview, those to be moved.
	Tables []Count
	// Hash is a SHA-256 over the content of all rows, which was the same in both stores
	// before the switch.
	Hash string
	// Held is how long the tenant worked nowhere.
	Held time.Duration
	// Left are rows that stay in the old store; see [ErrLeft].
	Left []Count
}

// Preview says what [Move.Run] would do, and writes nothing. The error wraps [ErrRefused]
// if it could not begin.
func (m Move) Preview(ctx context.Context) (Report, error) {
	r, err := m.look(ctx)
	if err == nil && r.head == nil {
		err = r.fits(ctx)
	}
	if err == nil {
		err = r.count(ctx)
	}
	if err != nil {
		return r.report, fmt.Errorf("tenant: Preview: %w", err)
	}
	return r.report, nil
}

// Run moves the tenant, or goes on with a move that was cut off. It copies what has ended
// while the tenant works; then it calls Hold, waits until the workers have given back what
// they have in hand, copies the rest, compares every row of both stores, and calls Switch.
// From then on the new store's pollers work for the tenant, and the rows of the old store
// are removed. An error leaves the move where it is: run it again, or call [Move.Undo]
// before the switch. Where two run at once, the later one goes on and the other fails.
func (m Move) Run(ctx context.Context) (Report, error) {
	r, err := m.look(ctx)
	if err == nil {
		err = r.begin(ctx)
	}
	for err == nil && r.phase() != Moved {
		err = r.step(ctx)
	}
	if err == nil && len(r.report.Left) > 0 {
		err = fmt.Errorf("%w: %v", ErrLeft, r.report.Left)
	}
	if err != nil {
		return r.report, fmt.Errorf("tenant: Run: %w", err)
	}
	return r.report, nil
}

// Undo gives up a move that has not switched: the old store's pollers work for the tenant
// again, and what was copied is removed. The host writes for it again when Undo has
// returned.
func (m Move) Undo(ctx context.Context) error {
	r, err := m.look(ctx)
	switch {
	case err != nil:
	case r.head == nil:
		err = fmt.Errorf("%w: the tenant is not being moved", ErrRefused)
	case r.phase() != Copying && r.phase() != Held:
		err = fmt.Errorf("%w: the tenant has switched already; move it back instead", ErrRefused)
	default:
		if err = r.takeOver(ctx); err == nil {
			err = r.undo(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("tenant: Undo: %w", err)
	}
	return nil
}

// run is one run of a move.
type run struct {
	Move
	head  *moveRow // of the old store; nil: no move has begun
	there *moveRow // of the new store; nil: there is none
	// pages are the rows of the old store that the new one has, as of the last comparison.
	pages  []*moveRow
	report Report
}

func (r *run) phase() Phase { return Phase(r.head.Status) }

// look reads how far the move has come.
func (m Move) look(ctx context.Context) (*run, error) {
	r := &run{Move: m}
	err := moves.CheckScope(m.Scope)
	switch {
	case err != nil:
		return r, err
	case m.From == nil || m.To == nil || driver.Same(m.From, m.To):
		return r, fmt.Errorf("%w: From and To are not two stores", ErrRefused)
	}
	if err = m.By.Check(); err != nil {
		return r, err
	}
	if r.head, err = headIn(ctx, m.From, m.Scope); err == nil {
		r.there, err = headIn(ctx, m.To, m.Scope)
	}
	if err != nil || r.head == nil {
		return r, err
	}
	r.report.Phase = r.phase()
	switch there := r.there; {
	case r.phase() == Arriving:
		err = fmt.Errorf("%w: the tenant is still arriving in the old store by another move", ErrRefused)
	case r.phase() == Moved, r.phase() == Switched && there == nil: // all but the last step
	case there == nil || there.Token != r.head.Token:
		err = fmt.Errorf("%w: the tenant is being moved to another store than this one", ErrRefused)
	}
	return r, err
}

// step brings the move into its next phase.
func (r *run) step(ctx context.Context) error {
	switch r.phase() {
	case Copying:
		if err := r.copyEnded(ctx); err != nil {
			return err
		}
		return r.enter(ctx, Held)
	case Held:
		if err := call(ctx, r.Hold); err != nil {
			return fmt.Errorf("hold: %w", err)
		}
		if err := r.settle(ctx); err != nil {
			return err
		}
		return r.enter(ctx, Switched)
	default:
		if err := r.release(ctx, r.To); err != nil {
			return err
		}
		if err := call(ctx, r.Switch); err != nil {
			return fmt.Errorf("switch: %w", err)
		}
		if err := r.remove(ctx); err != nil {
			return err
		}
		if err := r.arrive(ctx); err != nil {
			return err
		}
		return r.enter(ctx, Moved)
	}
}

func call(ctx context.Context, f func(context.Context) error) error {
	if f == nil {
		return nil
	}
	return f(ctx)
}
