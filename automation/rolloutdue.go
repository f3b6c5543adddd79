package automation

import (
	"context"

	"github.com/belfry-go/belfry/storage"
)

// checkRollout ends rows whose runs are the old scheduler's at the stage of
// their part, before anything is built for them. What the guard says counts in
// the end, when the row is settled.
func (b *batch) checkRollout(ctx context.Context) {
	tries := b.open()
	if len(tries) == 0 || !b.s.registry.guards(tries[0].row.Type) {
		return
	}
	var allowed map[*try]bool
	err := b.inTx(ctx, func(tx storage.Tx) (err error) {
		allowed, err = allowedAmong(ctx, tx, tries)
		return err
	})
	for _, t := range tries {
		if t.err = err; err == nil && !allowed[t] {
			t.stop = Shadow
		}
	}
}

// allowedAmong are the tries that their stage lets run, and those that were
// picked one by one.
func allowedAmong(ctx context.Context, tx storage.Tx, tries []*try) (map[*try]bool, error) {
	var parts []RolloutPart
	for _, t := range tries {
		parts = append(parts, t.row.rolloutPart())
	}
	stages, err := loadStages(ctx, tx, parts)
	if err != nil {
		return nil, err
	}
	allowed := map[*try]bool{}
	picked := map[Scope][]string{}
	for i, t := range tries {
		switch stage := stages.of(parts[i]); {
		case stage.runs(t.row.Key):
			allowed[t] = true
		case stage == StageRunNow:
			picked[t.row.Scope] = append(picked[t.row.Scope], t.row.Key)
		}
	}
	known, err := findOwnerships(ctx, tx, picked)
	for _, t := range tries {
		if o := known[statePlace{t.row.Scope, t.row.Key}]; o != nil && o.Owner == AutomationScheduler {
			allowed[t] = true
		}
	}
	return allowed, err
}
