package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// revalidate says whether a message that waited or failed is still wanted: not if
// its subscription was deleted or deactivated. One that is paused delivers what it
// has built.
func (s *Service) revalidate(ctx context.Context, j notify.Job) (notify.Verdict, error) {
	var data eventData
	if err := json.Unmarshal(j.EventData, &data); err != nil {
		return notify.Verdict{}, fmt.Errorf("report: EventData: %w", err)
	}
	sub, err := s.Subscription(ctx, j.Scope, data.Report.Subscription)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return notify.Skip(string(automation.SourceNoLongerValid)), nil
	case err != nil:
		return notify.Verdict{}, err
	case sub.Status == StatusDeactivated:
		return notify.Skip(string(SubscriptionInactive)), nil
	}
	return notify.Proceed(), nil
}
