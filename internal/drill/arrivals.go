package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// patience is how long a day waits for what must come; then it fails, as a whole.
const patience = 3 * time.Minute

// arrivals are when what was sent or made due arrived where it should. The zero value
// has none.
type arrivals struct {
	mu      sync.Mutex
	on      map[string]time.Time // the first time
	more    int                  // repeats
	changed chan struct{}        // closed at the next arrival; nil: no goroutine waits
}

func (a *arrivals) add(name string) {
	now := wall.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.on == nil {
		a.on = map[string]time.Time{}
	}
	if _, again := a.on[name]; again {
		a.more++
		return
	}
	a.on[name] = now
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

// total is how many have arrived.
func (a *arrivals) total() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.on)
}

// until waits until there is what holds looks for.
func (a *arrivals) until(ctx context.Context, what string, holds func() bool) error {
	limit := wall.Timer(patience)
	defer limit.Stop()
	for {
		a.mu.Lock()
		if holds() {
			a.mu.Unlock()
			return nil
		}
		if a.changed == nil {
			a.changed = make(chan struct{})
		}
		changed, n := a.changed, len(a.on)
		a.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			return fmt.Errorf("not within %v: %s; %d have arrived", patience, what, n)
		}
	}
}

// count waits until so many have arrived.
func (a *arrivals) count(ctx context.Context, n int) error {
	return a.until(ctx, fmt.Sprint(n, " arrivals"), func() bool { return len(a.on) >= n })
}

// of waits for one, and says when it arrived.
func (a *arrivals) of(ctx context.Context, name string) (on time.Time, err error) {
	err = a.until(ctx, name, func() bool {
		on = a.on[name]
		return !on.IsZero()
	})
	return on, err
}

// quantile is the time that a share q of them does not exceed; 0 of none.
func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
