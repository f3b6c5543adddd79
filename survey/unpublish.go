package survey

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry/storage"
)

// Unpublish stops ingest from making instances of a survey. Those that there are go
// on: they are sent, reminded of, answered and passed on. Publishing any version ends
// it. A survey that is not published stays so; one that does not exist is
// storage.ErrNotFound.
func (s *Service) Unpublish(ctx context.Context, scope Scope, surveyID int64) error {
	if err := checkScope(scope); err != nil {
		return err
	}
	err := s.inTx(ctx, func(tx storage.Tx) error {
		row, err := changeSurvey(ctx, tx, scope, surveyID, func(row *surveyRow) (write bool, err error) {
			if row.Version == 0 {
				return false, storage.ErrNotFound
			}
			write = row.PublishedVersion != 0
			row.PublishedVersion = 0
			return write, nil
		})
		if err != nil || row == nil {
			return err
		}
		return setTriggers(ctx, tx, scope, surveyID, nil)
	})
	if err != nil {
		return fmt.Errorf("survey: unpublish survey %d: %w", surveyID, err)
	}
	return nil
}
