package work

import (
	"context"
	"slices"
	"sync"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Except is what a pass leaves alone. The zero value leaves out nothing.
type Except struct {
	All    bool            // every row
	Types  []string        // in every scope; only of a Spec with Types
	Scopes []storage.Scope // with all their types
	Scoped []driver.ScopedKind
	Kinds  driver.Names // by another column than the type; the zero value: none
}

func (e Except) empty() bool {
	return !e.All && len(e.Types)+len(e.Scopes)+len(e.Scoped) == 0 && e.Kinds.Column == ""
}

// from is the claim c without what is left out.
func (e Except) from(c driver.Claim) driver.Claim {
	switch {
	case e.All:
		c.Kinds = []string{}
	case len(e.Types) > 0:
		c.Kinds = slices.DeleteFunc(slices.Clone(c.Kinds), func(name string) bool { return slices.Contains(e.Types, name) })
	}
	c.ExceptKinds = append(slices.Clip(e.Scoped), c.ExceptKinds...)
	c.Except, c.ExceptNames = e.Scopes, e.Kinds
	return c
}

// asking is what a pass leaves alone, as of the last time that it was asked.
type asking struct {
	mu     sync.Mutex
	except Except
	asked  bool // in this poll
}

// again makes the next claim ask.
func (a *asking) again() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = false
}

func (a *asking) known() Except {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.except
}

// ask learns what is to be left out, once a poll.
func (r *runner[R, A]) ask(ctx context.Context, from driver.Reader) (Except, error) {
	r.asking.mu.Lock()
	e, asked := r.asking.except, r.asking.asked
	r.asking.mu.Unlock()
	if r.spec.Except == nil || asked {
		return e, nil
	}
	e, err := r.spec.Except(ctx, from)
	if err == nil {
		r.asking.mu.Lock()
		r.asking.except, r.asking.asked = e, true
		r.asking.mu.Unlock()
	}
	return e, err
}

// askFirst keeps a look for due rows from seeing what is left out, and from
// missing what is so no more. While nothing is left out the claim asks early
// enough, and an idle poll stays one SELECT. It reads, and waits for no writer.
func (r *runner[R, A]) askFirst(ctx context.Context) error {
	r.asking.mu.Lock()
	nothing := r.asking.asked || r.asking.except.empty()
	r.asking.mu.Unlock()
	if nothing {
		return nil
	}
	return r.store.View(ctx, func(from driver.Reader) error {
		_, err := r.ask(ctx, from)
		return err
	})
}
