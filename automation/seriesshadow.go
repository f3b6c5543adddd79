package automation

import (
	"context"

	"github.com/belfry-go/belfry/storage"
)

// passedOver are the occurrences among rows in shadow that the old scheduler has
// although their part is past it: it asked for them before there was a row, or ran
// early, or support gave them back. No move wakes their series, so it goes on with the
// next occurrence.
func passedOver(ctx context.Context, tx storage.Tx, rows []*Schedule) ([]gone, error) {
	var shadows []*Schedule
	var parts []RolloutPart
	for _, r := range rows {
		if r.recurs() && r.inShadow() {
			shadows, parts = append(shadows, r), append(parts, r.rolloutPart())
		}
	}
	if len(shadows) == 0 {
		return nil, nil
	}
	stages, err := loadStages(ctx, tx, parts)
	var out []gone
	for i, r := range shadows {
		if stages.of(parts[i]).runs(r.Key) {
			out = append(out, r.gone())
		}
	}
	return out, err
}
