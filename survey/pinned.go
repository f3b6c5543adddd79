package survey

import (
	"context"
	"errors"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

// versionID names a published version.
type versionID struct {
	scope    Scope
	surveyID int64
	number   int64
}

// pinned finds the version and the trigger that each row is pinned to. A row
// without them can still expire.
func (s *Service) pinned(ctx context.Context, items []work.Item[Instance]) ([]*sending, error) {
	out := make([]*sending, len(items))
	err := s.store.InTx(ctx, func(tx storage.Tx) error {
		found := map[versionID]*version{}
		for i, it := range items {
			r := it.Row
			id := versionID{r.Scope, r.SurveyID, r.SurveyVersion}
			v, known := found[id]
			if !known {
				var err error
				if v, err = s.versionOf(ctx, tx, id.scope, id.surveyID, id.number); err != nil && !unreadable(err) {
					return err
				} else if err != nil {
					v = nil
				}
				found[id] = v
			}
			out[i] = &sending{Item: it, version: v, trigger: triggerOf(v, r.TriggerID)}
			out[i].grace = s.graceOf(out[i].trigger)
		}
		return nil
	})
	return out, err
}

// unreadable errors are about one version; others are about the database.
func unreadable(err error) bool {
	return errors.Is(err, storage.ErrNotFound) || errors.Is(err, errUnreadable)
}

func triggerOf(v *version, id string) *Trigger {
	if v == nil {
		return nil
	}
	return v.trigger(id)
}

// graceOf is how long an instance of that trigger stays open after its last send.
func (s *Service) graceOf(t *Trigger) time.Duration {
	if t != nil && t.ExpiryGrace != nil {
		return time.Duration(*t.ExpiryGrace)
	}
	return s.options.ExpiryGrace
}
