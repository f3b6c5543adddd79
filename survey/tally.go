package survey

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry/storage"
)

// tallyLimit is how many instances Tally looks at.
const tallyLimit = 10_000

// Tally counts the instances of a survey by status, those that were deleted left
// out.
type Tally struct {
	Pending, Sent, Opened, Completed, Expired int
	// Capped says that there are more: the counts are those of 10,000, which are
	// first by trigger and hash.
	Capped bool
}

// Tally counts the instances of a survey by status, for dashboards. It looks at
// 10,000 of them at most, however many there are.
func (s *Service) Tally(ctx context.Context, scope Scope, surveyID int64) (Tally, error) {
	if err := checkScope(scope); err != nil {
		return Tally{}, fmt.Errorf("survey: Tally: %w", err)
	}
	var out Tally
	err := s.inTx(ctx, func(tx storage.Tx) error {
		groups, err := instances.Tally(ctx, tx, scope, storage.Tally{
			By: []string{"status"}, Where: append(ofSurvey(surveyID), storage.Null("deleted_on")), OrderBy: "key", Limit: tallyLimit,
		})
		out = Tally{}
		seen := 0
		for _, g := range groups {
			seen += g.N
			*out.of(g.Row.Status) += g.N
		}
		out.Capped = seen == tallyLimit
		return err
	})
	return out, err
}

func (t *Tally) of(status string) *int {
	switch status {
	case StatusPending:
		return &t.Pending
	case StatusSent:
		return &t.Sent
	case StatusOpened:
		return &t.Opened
	case StatusCompleted:
		return &t.Completed
	default:
		return &t.Expired
	}
}
