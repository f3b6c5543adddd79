package notify

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// Suppressed lists the suppressions of a scope that are in force, in the order of
// their keys. What is stored under another key than Options.HashKey and
// Options.FormerHashKeys is not among them: it matches nobody.
func (n *Notifier) Suppressed(ctx context.Context, scope Scope, p Page) ([]Suppression, error) {
	return list(ctx, n, suppressions, scope, p, []storage.Cond{storage.Eq("status", StatusActive), storage.In("hash_key", n.fingerprints)})
}

func (s *Suppression) lift(time.Time) (refused string) {
	if s.Status != StatusActive {
		return "it is not in force"
	}
	suppressionStates.Must(s.Status, StatusLifted)
	s.Status = StatusLifted
	return ""
}
