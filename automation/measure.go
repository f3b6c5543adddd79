package automation

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// readAt notes the version of the source from which plans were made.
func readAt(version int64, plans []plan) []plan {
	out := slices.Clone(plans)
	for i := range out {
		out[i].version = version
	}
	return out
}

// measure records the readings of plans that have a condition, and gives the
// plans with the rows that they ask for. Within an event it comes after stamp,
// so that readings arrive in the order of the events.
func (s *Scheduler) measure(ctx context.Context, tx storage.Tx, plans []plan) ([]plan, error) {
	states, err := recordReadings(ctx, tx, plans)
	if err != nil {
		return plans, err
	}
	return fireAll(plans, states, s.now())
}

// fireAll gives the plans with the rows that they ask for in those states.
func fireAll(plans []plan, states map[statePlace]*thresholdState, now time.Time) (out []plan, err error) {
	if len(states) == 0 {
		return plans, nil
	}
	out = slices.Clone(plans) // the transaction may run again
	for i, p := range out {
		if p.condition == nil {
			continue
		}
		if out[i], err = p.fire(states[p.condition.place()], now); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// statePlace is where the state of a condition is.
type statePlace struct {
	scope Scope
	key   string
}

func (k *condition) place() statePlace { return statePlace{k.candidate.Scope, k.state} }

// recordReadings writes what is new.
func recordReadings(ctx context.Context, tx storage.Tx, plans []plan) (map[statePlace]*thresholdState, error) {
	wants := readingsOf(plans)
	if len(wants) == 0 {
		return nil, nil
	}
	got, err := thresholdStates.Ensure(ctx, tx, decideReading, slices.Collect(maps.Values(wants))...)
	for _, g := range got {
		wants[statePlace{g.Row.Scope, g.Row.Key}] = g.Row
	}
	return wants, err
}

// readingsOf are the states that the plans ask for. Readings that share a row
// are one: the newest counts, and of several of one version any that is met.
func readingsOf(plans []plan) map[statePlace]*thresholdState {
	wants := map[statePlace]*thresholdState{}
	for _, p := range plans {
		if p.condition == nil {
			continue
		}
		place := p.condition.place()
		known := wants[place]
		if known == nil || p.version > known.SourceVersion || p.version == known.SourceVersion && p.condition.met && !known.Met {
			wants[place] = p.state()
		}
	}
	return wants
}

// fire fills in the row of the firing that is under way, or was the last one, or
// will be the first. FalseToTrue asks for nothing on a rise that was not
// counted.
func (p plan) fire(state *thresholdState, now time.Time) (plan, error) {
	want, err := p.condition.row(p.condition.today(now), max(state.Rises, 1))
	want.ScheduledOn = now
	p.want = want
	if p.condition.candidate.Threshold.Policy == FalseToTrue && !state.Met {
		p.unmet = true
	}
	return p, err
}
