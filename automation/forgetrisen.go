package automation

import (
	"context"

	"github.com/belfry-go/belfry/storage"
)

// outrun tells which rows stand for a rise of their condition that is not the
// last one, by id: whoever asks for one now is given the number of a later rise.
func (s *Scheduler) outrun(ctx context.Context, rows []*Schedule) (map[int64]bool, error) {
	type rise struct {
		row *Schedule
		n   int64
	}
	byScope := map[Scope]map[string][]rise{}
	for _, row := range rows {
		id, key, ok := conditionOf(row)
		if !ok || id.policy != FalseToTrue {
			continue
		}
		if byScope[id.scope] == nil {
			byScope[id.scope] = map[string][]rise{}
		}
		byScope[id.scope][id.state] = append(byScope[id.scope][id.state], rise{row, key.Firing().Rises})
	}
	if len(byScope) == 0 {
		return nil, nil
	}
	out := map[int64]bool{}
	err := s.store.InTx(ctx, func(tx storage.Tx) error {
		for scope, byState := range byScope {
			names := make([]string, 0, len(byState))
			for name := range byState {
				names = append(names, name)
			}
			states, err := thresholdStates.Find(ctx, tx, scope, storage.Query{Where: []storage.Cond{storage.In("key", names)}, Limit: len(names)})
			if err != nil {
				return err
			}
			for _, state := range states {
				for _, r := range byState[state.Key] {
					out[r.row.ID] = state.Rises > r.n
				}
			}
		}
		return nil
	})
	return out, err
}
