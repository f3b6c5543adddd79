package report

import (
	"context"
	"errors"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/storage"
)

// Page is a part of a list.
type Page struct {
	// After is where the page before ended: what its call returned beside the
	// rows. Empty begins at the beginning.
	After string
	// Limit is at most so many; default 100, at most 1000.
	Limit int
}

func (p Page) limit() int {
	if p.Limit <= 0 {
		return 100
	}
	return min(p.Limit, 1000)
}

// Subscription returns the subscription with that guid, or storage.ErrNotFound.
func (s *Service) Subscription(ctx context.Context, scope automation.Scope, guid string) (sub Subscription, err error) {
	if scope == storage.AnyScope {
		return Subscription{}, errAnyScope
	}
	err = s.inTx(ctx, func(s *Service) error {
		found, err := find(ctx, s.tx, scope, guid)
		if err == nil && found == nil {
			err = storage.ErrNotFound
		}
		if err == nil {
			sub = found.subscription()
		}
		return err
	})
	return sub, wrap(guid, err)
}

// Subscriptions lists the subscriptions of a scope in the order of their guids,
// and says where the next page begins; empty after the last.
func (s *Service) Subscriptions(ctx context.Context, scope automation.Scope, p Page) (out []Subscription, next string, err error) {
	if scope == storage.AnyScope {
		return nil, "", errAnyScope
	}
	if !storable.Text(string(scope)) || !storable.Text(p.After) {
		return nil, "", errors.New("report: Subscriptions: a scope or page that no row has")
	}
	err = s.inTx(ctx, func(s *Service) error {
		q := storage.Query{OrderBy: "key", Limit: p.limit()}
		if p.After != "" {
			q.Where = append(q.Where, storage.Greater("key", p.After))
		}
		rows, err := subscriptions.Find(ctx, s.tx, scope, q)
		out, next = make([]Subscription, len(rows)), ""
		for i, r := range rows {
			out[i] = r.subscription()
		}
		if len(rows) == q.Limit {
			next = rows[len(rows)-1].Key
		}
		return err
	})
	return out, next, err
}

// Refresh makes sure of the next runs of a page of subscriptions, and says where
// the next page begins; empty after the last. It moves runs after the zone of a
// business unit has changed, and restores the run of a subscription that lost it
// (automation's Health lists those). It writes nothing where nothing has changed.
func (s *Service) Refresh(ctx context.Context, scope automation.Scope, p Page) (next string, err error) {
	err = s.inTx(ctx, func(s *Service) error {
		all, after, err := s.Subscriptions(ctx, scope, p)
		if err != nil {
			return err
		}
		var wanted []automation.Candidate
		for _, sub := range all {
			if sub.Status == StatusActive {
				wanted = append(wanted, sub.candidate())
			}
		}
		next = after
		_, err = s.scheduler.Ensure(ctx, wanted...)
		return err
	})
	return next, err
}
