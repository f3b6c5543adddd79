package automation

import (
	"github.com/belfry-go/belfry/storage"
)

// thresholdState is a row of threshold_state: what the last reading of a
// condition said, and how often the condition has risen. Its key is setting,
// source type, source, trigger key, metric, value and scope, joined. It is the
// memory behind FalseToTrue: without it rises would be counted from one again.
// It is never due.
type thresholdState struct {
	storage.Record
	Met           bool       `db:"met"`
	Rises         int64      `db:"rises"`
	SourceVersion int64      `db:"source_version"` // of the reading; zero: without versions
	Comparison    Comparison `db:"comparison"`
	Value         string     `db:"value"` // what the reading was compared with
	Reading       string     `db:"reading"`
}

var thresholdStates = storage.Define[thresholdState]("threshold_state").Limit(maxRow)

// state is the row that the plan's reading makes where there is none.
func (p plan) state() *thresholdState {
	t := p.condition.candidate.Threshold
	state := &thresholdState{
		Record: storage.Record{Scope: p.want.Scope, Key: p.condition.state},
		Met:    p.condition.met, SourceVersion: p.version,
		Comparison: t.Comparison, Value: t.Value, Reading: t.Reading,
	}
	if state.Met {
		state.Rises = 1
	}
	return state
}

// decideReading takes over a newer reading. One of the version that was measured
// already moves nothing, whatever it says: the same event may be told again
// while the source is further on. A reading without a version is newer if it is
// another one, since the order of its events is that of their transactions.
func decideReading(stored, want *thresholdState) (storage.Outcome, bool) {
	if want.SourceVersion != 0 && want.SourceVersion <= stored.SourceVersion {
		return storage.Unchanged, false
	}
	if want.SourceVersion == 0 && stored.says(want) {
		return storage.Unchanged, false
	}
	if want.Met && !stored.Met {
		stored.Rises++
	}
	stored.Met, stored.Comparison, stored.Value, stored.Reading = want.Met, want.Comparison, want.Value, want.Reading
	stored.SourceVersion = max(stored.SourceVersion, want.SourceVersion)
	return storage.Updated, true
}

func (r *thresholdState) says(want *thresholdState) bool {
	return r.Met == want.Met && r.Comparison == want.Comparison && r.Value == want.Value && r.Reading == want.Reading
}
