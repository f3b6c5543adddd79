package automation

import (
	"context"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/storage"
)

// threshold decodes what is particular to a ThresholdCondition.
func (r *Schedule) threshold(d *Due) (err error) {
	_, key, ok := conditionOf(r)
	if !ok {
		return fmt.Errorf("automation: key of %s: it is not that of a threshold", r.Key)
	}
	firing := key.Firing()
	d.Threshold = &Threshold{Metric: key.Metric, Value: firing.Value, Policy: firing.Policy, Scope: firing.Scope}
	if r.LocalDate == "" {
		return nil
	}
	if d.LocalDate, err = civil.ParseDate(r.LocalDate); err != nil {
		return fmt.Errorf("automation: scheduled_local_date of %s: %w", r.Key, err)
	}
	return nil
}

// loadReadings asks for the last readings of all conditions at once.
func (b *batch) loadReadings(ctx context.Context) {
	if !slices.ContainsFunc(b.tries, func(t *try) bool { return t.row.TriggerType == ThresholdCondition }) {
		return
	}
	tries := map[statePlace][]*try{}
	keys := map[Scope][]string{}
	for _, t := range b.open() {
		if id, _, ok := conditionOf(t.row); ok {
			place := statePlace{id.scope, id.state}
			if tries[place] == nil {
				keys[place.scope] = append(keys[place.scope], place.key)
			}
			tries[place] = append(tries[place], t)
		}
	}
	read := func(tx storage.Tx) error { return readingsInto(ctx, tx, keys, tries) }
	err := b.inTx(ctx, read)
	for _, of := range tries {
		for _, t := range of {
			t.err = err
		}
	}
}

// inTx runs f in the transaction of a rehearsal, or in one of its own.
func (b *batch) inTx(ctx context.Context, f func(storage.Tx) error) error {
	if b.tx != nil {
		return f(b.tx)
	}
	return b.s.store.InTx(ctx, f)
}

func readingsInto(ctx context.Context, tx storage.Tx, keys map[Scope][]string, tries map[statePlace][]*try) error {
	for scope, keys := range keys {
		states, err := thresholdStates.Find(ctx, tx, scope, storage.Query{Where: []storage.Cond{storage.In("key", keys)}, Limit: len(keys)})
		if err != nil {
			return err
		}
		for _, state := range states {
			for _, t := range tries[statePlace{scope, state.Key}] {
				t.due.read(state.Comparison, state.Value, state.Reading)
			}
		}
	}
	return nil
}

// measured takes over the reading of a plan that stands for the row.
func (d *Due) measured(p plan) {
	if p.condition != nil {
		t := p.condition.candidate.Threshold
		d.read(t.Comparison, t.Value, t.Reading)
	}
}

func (d *Due) read(c Comparison, value, reading string) {
	d.Threshold.Comparison, d.Threshold.Value, d.Threshold.Reading = c, value, reading
}

// thresholdData is what the renderer gets to see of a condition.
type thresholdData struct {
	Metric     string
	Comparison Comparison
	Value      string
	Reading    string
	Scope      string
}

func (d *Due) thresholdData() *thresholdData {
	if d.Threshold == nil {
		return nil
	}
	t := d.Threshold
	return &thresholdData{t.Metric, t.Comparison, t.Value, t.Reading, t.Scope}
}
