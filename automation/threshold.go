package automation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// thresholdState is a row of threshold_state: what the last reading of a
// condition said, and how often the condition has risen. Its key is setting,
// source type, source, trigger key, metric, value and scope, joined. It is the
// memory behind FalseToTrue: without it rises would be counted from one again.
// It is never due.
type thresholdState struct {
	storage.Record
	Met           bool                 `db:"met"`
	Rises         int64                `db:"rises"`
	SourceVersion int64                `db:"source_version"` // of the reading; zero: without versions
	Stream        string               `db:"stream,plain"`   // what SourceVersion counts
	Comparison    threshold.Comparison `db:"comparison,plain"`
	Value         string               `db:"value,plain"` // what the reading was compared with
	Reading       string               `db:"reading,plain"`
}

var thresholdStates = driver.Define[thresholdState]("threshold_state").Grows(driver.WithEntities).
	Kept(driver.Always, "whether a condition has fired for a source").Limit(maxRow)

// state is the row that the plan's reading makes where there is none.
func (p plan) state() *thresholdState {
	t := p.condition.candidate.Threshold
	state := &thresholdState{
		Record: storage.Record{Scope: p.want.Scope, Key: p.condition.state},
		Met:    p.condition.met, SourceVersion: p.version, Stream: p.stream,
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
// another one, since the order of its events is that of their transactions, and so
// is one of another stream.
func decideReading(stored, want *thresholdState) (storage.Outcome, bool) {
	counted := want.SourceVersion != 0 && want.Stream == stored.Stream
	if counted && want.SourceVersion <= stored.SourceVersion || !counted && stored.says(want) {
		return storage.Unchanged, false
	}
	if want.Met && !stored.Met {
		stored.Rises++
	}
	stored.Met, stored.Comparison, stored.Value, stored.Reading = want.Met, want.Comparison, want.Value, want.Reading
	if want.SourceVersion != 0 {
		stored.SourceVersion, stored.Stream = want.SourceVersion, want.Stream
	}
	return storage.Updated, true
}

func (r *thresholdState) says(want *thresholdState) bool {
	return r.Met == want.Met && r.Comparison == want.Comparison && r.Value == want.Value && r.Reading == want.Reading
}

// condition is the threshold of a plan, checked and complete. The rows that
// stand for it differ in the day or the number of rises in their keys only.
type condition struct {
	candidate Candidate // with everything that may be left out
	met       bool      // by its own reading
	loc       *time.Location
	state     string // key of its row of threshold_state
}

// conditionID is what all rows of a condition have in common.
type conditionID struct {
	scope  Scope
	state  string
	policy threshold.FiringPolicy
}

func (k *condition) id() conditionID {
	return conditionID{k.candidate.Scope, k.state, k.candidate.Threshold.Policy}
}

// today is the day of OncePerDay; other policies look at none.
func (k *condition) today(now time.Time) string {
	if k.loc == nil {
		return ""
	}
	return civil.DateOf(now, k.loc).String()
}

// identity is the key of one firing: of a day, or of a rise.
func (k *condition) identity(day string, rises int64) (keys.Threshold, error) {
	c, t := k.candidate, k.candidate.Threshold
	value, scope, err := keys.Firing{Policy: t.Policy, Value: t.Value, Scope: t.Scope, LocalDate: day, Rises: rises}.Parts()
	return keys.Threshold{
		Setting: c.Setting, SourceType: c.Source.Type, Source: c.Source.ID, TriggerKey: c.TriggerKey,
		Metric: t.Metric, Value: value, Policy: t.Policy, ScopeKey: scope,
	}, err
}

// row is the row of one firing. The InputHash looks at what the key looks at,
// and at the comparison where the key has a value to compare with: thresholds
// that share a key share their hash.
func (k *condition) row(day string, rises int64) (scheduleRow, error) {
	id, err := k.identity(day, rises)
	if err != nil {
		return scheduleRow{}, err
	}
	key, err := id.Key()
	if err != nil {
		return scheduleRow{}, err
	}
	in := keys.Input{Metric: id.Metric, Threshold: id.Value, Policy: id.Policy, Scope: id.ScopeKey}
	if id.Policy != threshold.OncePerSource {
		in.Comparison = string(k.candidate.Threshold.Comparison)
	}
	want := k.candidate.row(key, ThresholdCondition, in)
	if id.Policy == threshold.OncePerDay {
		want.LocalDate, want.TimeZone = day, k.candidate.Zone
	}
	return want, nil
}

// asksFor reports whether the condition stands for a row, under the day or the
// number in the row's own key: a row that was made before midnight is not
// another one behind it.
func (k *condition) asksFor(row *scheduleRow, key keys.Threshold) bool {
	own := key.Firing()
	same, err := k.row(own.LocalDate, own.Rises)
	return err == nil && same.Key == row.baseKey() && same.InputHash == row.InputHash
}

// conditionOf tells which condition a row stands for, and false if it stands
// for none.
func conditionOf(row *scheduleRow) (conditionID, keys.Threshold, bool) {
	if row.TriggerType != ThresholdCondition {
		return conditionID{}, keys.Threshold{}, false
	}
	parsed, _ := keys.Parse(row.baseKey()) // unreadable: it stands for nothing known
	key, ok := parsed.(keys.Threshold)
	if !ok {
		return conditionID{}, keys.Threshold{}, false
	}
	state, err := stateKey(key)
	return conditionID{row.Scope, state, key.Policy}, key, err == nil
}

// stateKey is the key of a condition's row of threshold_state: that of its
// firings without day and number. Policies share the row but for OncePerSource,
// whose thresholds are one condition.
func stateKey(k keys.Threshold) (string, error) {
	f := k.Firing()
	if f.Policy != threshold.OncePerSource {
		f.Policy = threshold.OncePerThreshold
	}
	value, scope, err := f.Parts()
	if err != nil {
		return "", err
	}
	return keys.Join(k.Setting, k.SourceType, k.Source, k.TriggerKey, k.Metric, value, scope)
}

// readAt notes the version of the source from which plans were made.
func readAt(e Event, plans []plan) []plan {
	out := slices.Clone(plans)
	for i := range out {
		out[i].version, out[i].stream = e.Version, e.stream()
	}
	return out
}

// measure records the readings of plans that have a condition, and gives the
// plans with the rows that they ask for. Within an event it comes after stamp,
// so that readings arrive in the order of the events.
func (s ensurer) measure(ctx context.Context, tx storage.Tx, plans []plan) ([]plan, error) {
	states, err := recordReadings(ctx, tx, plans)
	if err != nil {
		return plans, err
	}
	return fireAll(plans, states, s.now())
}

// fireAll gives the plans with the rows that they ask for in those states.
func fireAll(plans []plan, states map[driver.ScopedKey]*thresholdState, now time.Time) (out []plan, err error) {
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

// place is where the state of a condition is.
func (k *condition) place() driver.ScopedKey {
	return driver.ScopedKey{Scope: k.candidate.Scope, Key: k.state}
}

// recordReadings writes what is new.
func recordReadings(ctx context.Context, tx storage.Tx, plans []plan) (map[driver.ScopedKey]*thresholdState, error) {
	wants := readingsOf(plans)
	if len(wants) == 0 {
		return nil, nil
	}
	got, err := thresholdStates.Ensure(ctx, tx, decideReading, slices.Collect(maps.Values(wants))...)
	for _, g := range got {
		wants[thresholdStates.ScopedKeyOf(g.Row)] = g.Row
	}
	return wants, err
}

// readingsOf are the states that the plans ask for. Readings that share a row
// are one: the newest counts, and of several of one version any that is met.
func readingsOf(plans []plan) map[driver.ScopedKey]*thresholdState {
	wants := map[driver.ScopedKey]*thresholdState{}
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
	if p.condition.candidate.Threshold.Policy == threshold.FalseToTrue && !state.Met {
		p.unmet = true
	}
	return p, err
}

// threshold decodes what is particular to a ThresholdCondition.
func (d *Due) threshold(r *scheduleRow) (err error) {
	_, key, ok := conditionOf(r)
	if !ok {
		return fmt.Errorf("automation: key of %s: it is not that of a threshold", r.Key)
	}
	firing := key.Firing()
	d.Threshold = &threshold.Threshold{Metric: key.Metric, Value: firing.Value, Policy: firing.Policy, Scope: firing.Scope}
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
	tries := map[driver.ScopedKey][]*try{}
	for _, t := range b.open() {
		if id, _, ok := conditionOf(t.row); ok {
			place := driver.ScopedKey{Scope: id.scope, Key: id.state}
			tries[place] = append(tries[place], t)
		}
	}
	err := b.read(ctx, func(from driver.Reader) error { return readingsInto(ctx, from, tries) })
	for _, of := range tries {
		for _, t := range of {
			t.err = err
		}
	}
}

// read runs f in the transaction of a rehearsal, else over the rows of one moment.
func (b *batch) read(ctx context.Context, f func(driver.Reader) error) error {
	if b.tx != nil {
		return f(b.tx)
	}
	return b.s.store.View(ctx, f)
}

func readingsInto(ctx context.Context, from driver.Reader, tries map[driver.ScopedKey][]*try) error {
	states, err := thresholdStates.GetMany(ctx, from, slices.Collect(maps.Keys(tries)))
	for place, state := range states {
		for _, t := range tries[place] {
			t.due.read(state.Comparison, state.Value, state.Reading)
		}
	}
	return err
}

// measured takes over the reading of a plan that stands for the row.
func (d *Due) measured(p plan) {
	if p.condition != nil {
		t := p.condition.candidate.Threshold
		d.read(t.Comparison, t.Value, t.Reading)
	}
}

func (d *Due) read(c threshold.Comparison, value, reading string) {
	d.Threshold.Comparison, d.Threshold.Value, d.Threshold.Reading = c, value, reading
}

// thresholdData is what the renderer gets to see of a condition.
type thresholdData struct {
	Metric     string
	Comparison threshold.Comparison
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
