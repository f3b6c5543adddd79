package automation

import (
	"context"
	"slices"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// endSeries stops the series whose current row the event has ended. Where an
// [Invalidation] named the row itself the series goes on behind it. What the
// event asks for is ensured afterwards, and goes on then.
func (s *Scheduler) endSeries(ctx context.Context, tx storage.Tx, e Event, p eventPlan, result *EventResult) error {
	var left []gone
	for _, d := range result.Deactivated {
		parsed, err := keys.Parse(d.Key)
		if err != nil {
			continue // no series makes such a row
		}
		k, ok := parsed.(keys.Recurring)
		if !ok {
			continue
		}
		named := slices.ContainsFunc(p.invalid, func(in Invalidation) bool { return slices.Contains(in.Keys, d.Key) })
		left = append(left, gone{
			scope: e.Scope, series: seriesKey(TypeReminder, k.Setting, Source{k.SourceType, k.Source}, k.TriggerKey),
			on: k.Occurrence, reason: d.Reason, stop: !named,
		})
	}
	return s.advance(ctx, tx, left)
}
