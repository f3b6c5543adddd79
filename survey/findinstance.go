package survey

import (
	"context"
	"errors"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// errAnyScope is a read across tenants, which no host may ask for.
var errAnyScope = errors.New("survey: the scope of one tenant is needed")

// finder reads the instance that somebody speaks of, as it is now.
type finder func(ctx context.Context, tx storage.Tx) (*Instance, error)

// byToken finds the instance of a link, whose tenant nobody knows before. Whatever
// is no link of ours is looked for all the same, so that it takes as long.
func byToken(token string) finder {
	hash := linkHash(token)
	return func(ctx context.Context, tx storage.Tx) (*Instance, error) {
		return findInstance(ctx, tx, storage.AnyScope, storage.Eq("link_hash", hash))
	}
}

func byPublicID(scope Scope, publicID string) finder {
	return func(ctx context.Context, tx storage.Tx) (*Instance, error) {
		if scope == storage.AnyScope {
			return nil, errAnyScope
		}
		return findInstance(ctx, tx, scope, storage.Eq("public_id", publicID))
	}
}

func findInstance(ctx context.Context, tx storage.Tx, scope Scope, is storage.Cond) (*Instance, error) {
	found, err := instances.Find(ctx, tx, scope, storage.Query{Where: []storage.Cond{is}, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, ErrNoSurvey
	}
	return found[0], nil
}

// answerable says whether the instance still takes a response, or has it. The
// absolute limit holds whether or not a poller has come by since.
func (i *Instance) answerable(now time.Time) bool {
	switch {
	case !i.DeletedOn.IsZero() || i.Status == StatusExpired:
		return false
	case i.Status == StatusCompleted:
		return true
	}
	return i.ExpiresOn.IsZero() || now.Before(i.ExpiresOn)
}

// maxRaces bounds how often one call begins again because claims, sends or beacons
// came between.
const maxRaces = 100

// race repeats f, which reads a row and writes it back, while others write it.
func race(f func() error) error {
	for range maxRaces {
		if err := f(); !errors.Is(err, storage.ErrStale) {
			return err
		}
	}
	return storage.ErrBusy
}
