package automation

import (
	"context"
	"slices"

	"github.com/belfry-go/belfry/storage"
)

// measure finds out which rows the conditions of the sources ask for, as an
// event would, from the recorded readings and those of now. It writes nothing,
// and tells which sources have a reading to record.
func (p *scannedPage) measure(ctx context.Context, tx storage.Tx, among []*scannedSource) (map[*scannedSource]bool, error) {
	wants := make([]map[statePlace]*thresholdState, len(among))
	var keys []string
	for i, x := range among {
		x.asked = readAt(x.event.Version, x.plan.plans)
		wants[i] = readingsOf(x.asked)
		for place := range wants[i] {
			keys = append(keys, place.key)
		}
	}
	stored, err := p.readings(ctx, tx, keys)
	if err != nil {
		return nil, err
	}
	moved := map[*scannedSource]bool{}
	for i, x := range among {
		for place, want := range wants[i] {
			state, known := stored[place.key]
			if !known {
				moved[x] = true
				continue
			}
			before := *state
			decideReading(state, want)
			moved[x] = moved[x] || !state.says(&before)
			wants[i][place] = state
		}
		if x.asked, err = fireAll(x.asked, wants[i], p.now); err != nil {
			return nil, err
		}
	}
	return moved, p.foreseeSeries(ctx, tx, among)
}

// readings are the recorded ones, by key.
func (p *scannedPage) readings(ctx context.Context, tx storage.Tx, keys []string) (map[string]*thresholdState, error) {
	stored := map[string]*thresholdState{}
	for keys := range slices.Chunk(keys, compareChunk) {
		states, err := thresholdStates.Find(ctx, tx, p.scope, storage.Query{Where: []storage.Cond{storage.In("key", keys)}, Limit: len(keys)})
		if err != nil {
			return nil, err
		}
		for _, state := range states {
			stored[state.Key] = state
		}
	}
	return stored, nil
}
