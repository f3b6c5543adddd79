package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/work"
)

// allowed lists the scopes that are scanned.
func (c *Scan) allowed(ctx context.Context) ([]Scope, error) {
	if c.ScopesOf != nil {
		return c.ScopesOf(ctx)
	}
	return c.Scopes, nil
}

// allows reports whether the scope is on the list.
func (c *Scan) allows(ctx context.Context, scope Scope) (bool, error) {
	scopes, err := c.allowed(ctx)
	return slices.Contains(scopes, scope), err
}

// scopeList remembers the answer of a Scan's ScopesOf for a minute.
type scopeList struct {
	ask func(context.Context) ([]Scope, error)
	now func() time.Time

	mu     sync.Mutex
	known  bool
	scopes []Scope
	on     time.Time // when it was asked
}

func (l *scopeList) get(ctx context.Context) ([]Scope, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known && l.now().Before(l.on.Add(minScanEvery)) {
		return l.scopes, nil
	}
	var scopes []Scope
	err := work.Guard(func() (err error) {
		scopes, err = l.ask(ctx)
		return err
	})
	if err == nil {
		err = checkScopes(scopes)
	}
	switch {
	case err == nil:
		l.known, l.scopes, l.on = true, slices.Clone(scopes), l.now()
	case l.known:
		return l.scopes, nil
	default:
		return nil, fmt.Errorf("automation: the Scan's ScopesOf: %w", err)
	}
	return l.scopes, nil
}

// checkScopes refuses lists that name what cannot exist.
func checkScopes(scopes []Scope) error {
	for i, scope := range scopes {
		if field, err := checkTenancy(scope, ""); err != nil || slices.Contains(scopes[:i], scope) {
			return errors.Join(fmt.Errorf("the Scan's %s %d is named twice or cannot be one", cmp.Or(field, "Scope"), i), err)
		}
	}
	return nil
}

// listsScopes reports whether a type has a Scan with ScopesOf.
func (r *registry) listsScopes() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.ContainsFunc(r.scanned, func(name string) bool { return r.reminders[name].Scan.ScopesOf != nil })
}
