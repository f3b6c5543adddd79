package work

import (
	"context"
	"slices"

	"github.com/belfry-go/belfry/storage"
)

// Except is what a pass leaves alone. The zero value leaves out nothing.
type Except struct {
	All    bool            // every row
	Types  []string        // in every scope; only of a Spec with Types
	Scopes []storage.Scope // with all their types
	Scoped []storage.ScopedType
	Kinds  storage.Kinds // by another column than the type; the zero value: none
}

func (e Except) empty() bool {
	return !e.All && len(e.Types)+len(e.Scopes)+len(e.Scoped) == 0 && e.Kinds.Column == ""
}

// from is the claim c without what is left out.
func (e Except) from(c storage.Claim) storage.Claim {
	switch {
	case e.All:
		c.Types = []string{}
	case len(e.Types) > 0:
		c.Types = slices.DeleteFunc(slices.Clone(c.Types), func(name string) bool { return slices.Contains(e.Types, name) })
	}
	c.Except, c.ExceptTypes, c.ExceptKinds = e.Scopes, e.Scoped, e.Kinds
	return c
}

// ask learns what is to be left out, once a poll.
func (r *runner[R, A]) ask(ctx context.Context, tx storage.Tx) error {
	if r.spec.Except == nil || r.asked {
		return nil
	}
	e, err := r.spec.Except(ctx, tx)
	if err == nil {
		r.except, r.asked = e, true
	}
	return err
}

// askFirst keeps the look for due rows from seeing what is left out, and from
// missing what is so no more. While nothing is left out the claim asks early
// enough, and an idle poll stays one SELECT.
func (r *runner[R, A]) askFirst(ctx context.Context) error {
	if r.except.empty() {
		return nil
	}
	return r.store.InTx(ctx, func(tx storage.Tx) error { return r.ask(ctx, tx) })
}
