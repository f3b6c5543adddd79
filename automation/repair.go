package automation

import (
	"context"
	"maps"
	"slices"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// repair brings the rows of sources to what they want, as HandleEvent does: it
// takes the sources' rows first, leaves alone those that have shown a newer
// version, records readings, compares once more, and then deactivates before it
// ensures.
func (p *page) repair(ctx context.Context, tx storage.Tx, different []*pageSource) error {
	fresh, err := p.take(ctx, tx, different)
	if err != nil {
		return err
	}
	fresh = slices.DeleteFunc(fresh, func(x *pageSource) bool { return x.err != nil })
	var plans []plan
	for _, x := range fresh {
		plans = append(plans, readAt(x.event, x.plan.plans)...)
	}
	if _, err := recordReadings(ctx, tx, plans); err != nil {
		return err
	}
	if err := p.compare(ctx, tx, fresh); err != nil {
		return err
	}
	if err := p.end(ctx, tx, fresh); err != nil {
		return err
	}
	return p.ensure(ctx, tx, fresh)
}

// end deactivates the rows that no source asks for.
func (p *page) end(ctx context.Context, tx storage.Tx, among []*pageSource) error {
	because := map[string]Reason{}
	var keys []string
	for _, x := range among {
		for _, d := range x.found.differences {
			if d.Kind == wouldDeactivate {
				because[d.Key], keys = Reason(d.Detail), append(keys, d.Key)
			}
		}
	}
	if len(keys) == 0 {
		return nil
	}
	_, err := p.s.ensurer().deactivate(ctx, tx, p.event(), []driver.Cond{driver.In("key", keys)}, func(row *scheduleRow) (Reason, bool) {
		return because[row.Key], true
	})
	return err
}

// ensure makes sure of the wanted rows that are different.
func (p *page) ensure(ctx context.Context, tx storage.Tx, among []*pageSource) error {
	var plans []plan
	for _, x := range among {
		different := map[string]bool{}
		for _, d := range x.found.differences {
			different[d.Key] = d.Kind != wouldDeactivate && !d.settled
		}
		for _, plan := range x.asked {
			if different[plan.want.Key] && !x.plan.off[plan.want.Setting] {
				plans = append(plans, plan)
			}
		}
	}
	if len(plans) == 0 {
		return nil
	}
	_, err := p.s.ensurer().ensure(ctx, tx, plans, p.event()) // a conflict has put its own row on hold
	return err
}

// event is what the rows name as the event that wrote them.
func (p *page) event() Event { return Event{Scope: p.scope, Type: p.origin} }

// findStale says which sources a repair would leave alone. It writes nothing.
func (p *page) findStale(ctx context.Context, from driver.Reader, among []*pageSource) error {
	keys := make([]string, len(among))
	bySource := map[string]*pageSource{}
	for i, x := range among {
		state, err := newSourceState(x.event)
		if err != nil {
			return err
		}
		keys[i], bySource[x.event.Source.ID] = state.Key, x
	}
	shown, err := sources.Find(ctx, from, p.scope, driver.Query{Where: []driver.Cond{driver.In("key", keys)}, Limit: len(keys)})
	for _, state := range shown {
		x := bySource[state.Source]
		x.stale = x.event.Version != 0 && x.event.Version < state.Versions[x.event.stream()]
	}
	return err
}

// compareChunk is how many rows one statement of a comparison reads.
const compareChunk = 1000

// compare finds the differences of sources. It takes few statements for all of
// them and writes nothing.
func (p *page) compare(ctx context.Context, from driver.Reader, among []*pageSource) error {
	moved, err := p.measure(ctx, from, among)
	if err != nil {
		return err
	}
	opened, err := p.openRows(ctx, from, among)
	if err != nil {
		return err
	}
	rows := map[string]*scheduleRow{}
	bySource := map[string][]*scheduleRow{}
	for _, row := range opened {
		rows[row.Key] = row
		bySource[row.Source] = append(bySource[row.Source], row)
	}
	if err := p.otherRows(ctx, from, among, rows); err != nil {
		return err
	}
	if err := p.shade(ctx, from, among); err != nil {
		return err
	}
	for _, x := range among {
		asked := x.plan
		asked.plans = x.asked
		x.found = diff(p.now, x.event.Source, asked, rows, bySource[x.event.Source.ID], p.explains)
		x.found.moved = moved[x]
	}
	return nil
}

// openRows are the open rows of the sources under the settings spoken for.
func (p *page) openRows(ctx context.Context, from driver.Reader, among []*pageSource) (out []*scheduleRow, err error) {
	settings := map[string]bool{}
	ids := make([]string, len(among))
	for i, x := range among {
		ids[i] = x.event.Source.ID
		for _, setting := range x.plan.spoken {
			settings[setting] = true
		}
	}
	where := []driver.Cond{
		driver.In("source", ids), driver.In("setting", slices.Sorted(maps.Keys(settings))),
		driver.Eq("source_type", p.sourceType),
	}
	q := driver.Query{OrderBy: "source", Limit: compareChunk, Where: append(slices.Clone(where), open())}
	for {
		rows, err := schedules.Find(ctx, from, p.scope, q)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
		if len(rows) < q.Limit {
			return out, p.s.ensurer().eachShadow(ctx, from, p.scope, where, func(rows []*scheduleRow) error {
				out = append(out, rows...)
				return nil
			})
		}
		last := rows[len(rows)-1]
		q.After = &driver.Position{Value: last.Source, ID: last.ID}
	}
}

// otherRows adds the rows under the wanted keys that are not open: most of them
// are completed.
func (p *page) otherRows(ctx context.Context, from driver.Reader, among []*pageSource, rows map[string]*scheduleRow) error {
	var missing []string
	for _, x := range among {
		for _, plan := range x.asked {
			if rows[plan.want.Key] == nil {
				missing = append(missing, plan.want.Key)
			}
		}
	}
	for keys := range slices.Chunk(missing, compareChunk) {
		found, err := schedules.Find(ctx, from, p.scope, driver.Query{Where: []driver.Cond{driver.In("key", keys)}, Unordered: true, Limit: len(keys)})
		if err != nil {
			return err
		}
		for _, row := range found {
			rows[row.Key] = row
		}
	}
	return nil
}

// measure finds out which rows the conditions of the sources ask for, as an
// event would, from the recorded readings and those of now. It writes nothing,
// and tells which sources have a reading to record.
func (p *page) measure(ctx context.Context, from driver.Reader, among []*pageSource) (map[*pageSource]bool, error) {
	wants := make([]map[driver.ScopedKey]*thresholdState, len(among))
	var keys []string
	for i, x := range among {
		x.asked = readAt(x.event, x.plan.plans)
		wants[i] = readingsOf(x.asked)
		for place := range wants[i] {
			keys = append(keys, place.Key)
		}
	}
	stored, err := p.readings(ctx, from, keys)
	if err != nil {
		return nil, err
	}
	moved := map[*pageSource]bool{}
	for i, x := range among {
		for place, want := range wants[i] {
			state, known := stored[place.Key]
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
	return moved, p.previewSeries(ctx, from, among)
}

// readings are the recorded ones, by key.
func (p *page) readings(ctx context.Context, from driver.Reader, keys []string) (map[string]*thresholdState, error) {
	stored := map[string]*thresholdState{}
	for keys := range slices.Chunk(keys, compareChunk) {
		states, err := thresholdStates.Find(ctx, from, p.scope, driver.Query{Where: []driver.Cond{driver.In("key", keys)}, Limit: len(keys)})
		if err != nil {
			return nil, err
		}
		for _, state := range states {
			stored[state.Key] = state
		}
	}
	return stored, nil
}
