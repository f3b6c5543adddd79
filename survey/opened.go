package survey

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// Opened notes that the customer's browser has shown the form, as the page's own
// beacon tells it: who only fetches the link, as mail scanners do, has not opened
// it. Reminders stay scheduled. It changes nothing the second time, nor after the
// response; a link that does not lead to a survey gets [ErrNoSurvey].
func (s *Service) Opened(ctx context.Context, token string) error {
	find := byToken(token)
	return s.inTx(ctx, func(tx storage.Tx) error {
		return race(func() error {
			row, err := find(ctx, tx)
			if err != nil {
				return err
			}
			now := storage.Now(s.store)
			if !row.answerable(now) {
				return ErrNoSurvey
			}
			if !row.open(now) {
				return nil
			}
			return instances.Save(ctx, tx, row)
		})
	})
}

// open reports whether there was anything to change.
func (i *Instance) open(now time.Time) bool {
	if i.Status != StatusPending && i.Status != StatusSent {
		return false
	}
	machine.Must(i.Status, StatusOpened)
	i.Status = StatusOpened
	if i.OpenedOn.IsZero() {
		i.OpenedOn = now
	}
	return true
}
