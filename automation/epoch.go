package automation

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// The epoch of a scope counts the marks of its re-plans: the version of one row, which
// [MarkReplan] writes. What is planned ahead of a transaction remembers the epoch before it
// asks anybody. Inside, behind the row of the source, a newer one says that a setting, zone
// or calendar has changed meanwhile, and it is planned again there. So a re-plan finds what
// was written before it, and what is written later was planned with what it planned with.

// epochRow is where the epoch of a scope is. It is never due.
func epochRow(scope Scope) *reconciliation {
	return &reconciliation{Due: driver.Due{Record: storage.Record{Scope: scope, Key: epochKey, Status: reconcileDone}}}
}

var epochKey, _ = keys.Join("replan", "epoch")

// epochs are what plans of some scopes were made in.
type epochs map[Scope]int64

// knownEpochs are those that this process has seen. One that is older than it is by now
// has a plan made again, and hides no change.
type knownEpochs struct {
	mu    sync.Mutex
	known epochs
}

// maxEpochs is how many scopes are remembered.
const maxEpochs = 10000

func (k *knownEpochs) of(scopes []Scope) (epochs, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := epochs{}
	for _, scope := range scopes {
		epoch, known := k.known[scope]
		if !known {
			return nil, false
		}
		out[scope] = epoch
	}
	return out, true
}

func (k *knownEpochs) saw(now epochs) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) > maxEpochs {
		k.known = epochs{}
	}
	for scope, epoch := range now {
		k.known[scope] = max(epoch, k.known[scope])
	}
}

// epochsOfUnits are the epochs of scopes before the host's own wishes are planned; nil
// where these depend on no setting, zone or calendar.
func (s *core) epochsOfUnits(ctx context.Context, scopes ...Scope) (epochs, error) {
	if s.opts.Settings == nil && s.opts.Zone == nil && !s.registry.hasCalendars() {
		return nil, nil
	}
	return s.epochsAhead(ctx, scopes...)
}

// epochsAhead are the epochs of scopes before something is planned.
func (s *core) epochsAhead(ctx context.Context, scopes ...Scope) (out epochs, err error) {
	if s.tx == nil {
		if known, all := s.epochs.of(scopes); all {
			return known, nil
		}
	}
	return s.epochsNow(ctx, scopes...)
}

// epochsNow are the epochs as they are, for what is often planned just behind a mark.
func (s *core) epochsNow(ctx context.Context, scopes ...Scope) (out epochs, err error) {
	err = s.read(ctx, func(from driver.Reader) error {
		out, err = s.readEpochs(ctx, from, scopes)
		return err
	})
	return out, err
}

// outdated reports whether something has changed since plans were made.
func (s *core) outdated(ctx context.Context, from driver.Reader, planned epochs) (bool, error) {
	if len(planned) == 0 {
		return false, nil
	}
	now, err := s.readEpochs(ctx, from, slices.Collect(maps.Keys(planned)))
	for scope, epoch := range now {
		if epoch != planned[scope] {
			return true, err
		}
	}
	return false, err
}

func (s *core) readEpochs(ctx context.Context, from driver.Reader, scopes []Scope) (epochs, error) {
	places := make([]driver.ScopedKey, len(scopes))
	for i, scope := range scopes {
		places[i] = driver.ScopedKey{Scope: scope, Key: epochKey}
	}
	found, err := reconciliations.GetMany(ctx, from, places)
	if err != nil {
		return nil, err
	}
	out := epochs{}
	for i, scope := range scopes {
		out[scope] = 0
		if row := found[places[i]]; row != nil {
			out[scope] = row.Version
		}
	}
	if s.tx == nil { // a bound transaction may have marks of its own, which vanish with it
		s.epochs.saw(out)
	}
	return out, nil
}

// nextEpochs are the rows to write where something is marked.
func nextEpochs(what []Replan) []*reconciliation {
	var out []*reconciliation
	seen := map[Scope]bool{}
	for _, w := range what {
		if !seen[w.Scope] {
			seen[w.Scope] = true
			out = append(out, epochRow(w.Scope))
		}
	}
	return out
}

// isEpoch reports whether the row is that of an epoch.
func (r *reconciliation) isEpoch() bool { return r.Key == epochKey }
