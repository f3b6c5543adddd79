package automation

import (
	"context"

	"github.com/belfry-go/belfry/storage"
)

// settled follows up on rows that the due pass has written, in the transaction
// that wrote them, whatever became of them.
func (s *Scheduler) settled(ctx context.Context, tx storage.Tx, rows []*Schedule) error {
	for _, follow := range []func(context.Context, storage.Tx, []*Schedule) error{
		s.tellSettled, s.followRecurring,
	} {
		if err := follow(ctx, tx, rows); err != nil {
			return err
		}
	}
	return nil
}
