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
func (p *scannedPage) repair(ctx context.Context, tx storage.Tx, different []*scannedSource) error {
	if err := p.stamp(ctx, tx, different); err != nil {
		return err
	}
	fresh := slices.DeleteFunc(slices.Clone(different), func(x *scannedSource) bool { return x.stale })
	if err := p.reload(remembering(within(ctx, tx)), fresh); err != nil {
		return err
	}
	fresh = slices.DeleteFunc(fresh, func(x *scannedSource) bool { return x.err != nil })
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

func (p *scannedPage) stamp(ctx context.Context, tx storage.Tx, among []*scannedSource) error {
	events := make([]Event, len(among))
	for i, x := range among {
		events[i] = x.event
	}
	got, err := stamp(ctx, tx, events...)
	for i, g := range got {
		among[i].stale, among[i].others = !g.fresh, g.others
	}
	return err
}

// reload asks again about sources without versions, which may have changed between
// the page and their rows' locks, and about those whose settings have.
func (p *scannedPage) reload(ctx context.Context, among []*scannedSource) error {
	tx, _ := TxOf(ctx)
	outdated, err := p.s.outdated(ctx, tx, p.epochs)
	var again []*scannedSource
	if err == nil && !outdated {
		again, err = p.again(ctx, among)
	}
	if err != nil {
		return err
	}
	for _, x := range among {
		unversioned := x.event.Version == 0 || x.others
		if unversioned {
			x.event.Data = nil
		}
		if unversioned || outdated {
			again = append(again, x)
		}
	}
	if len(again) == 0 {
		return nil
	}
	return p.plan(ctx, again)
}

// end deactivates the rows that no source asks for.
func (p *scannedPage) end(ctx context.Context, tx storage.Tx, among []*scannedSource) error {
	reasons := map[string]Reason{}
	var keys []string
	for _, x := range among {
		for _, d := range x.found.differences {
			if d.Kind == WouldDeactivate {
				reasons[d.Key], keys = Reason(d.Detail), append(keys, d.Key)
			}
		}
	}
	if len(keys) == 0 {
		return nil
	}
	_, err := p.s.ensurer().deactivate(ctx, tx, p.event(), []driver.Cond{driver.In("key", keys)}, func(row *scheduleRow) (Reason, bool) {
		return reasons[row.Key], true
	})
	return err
}

// ensure makes sure of the wanted rows that are different.
func (p *scannedPage) ensure(ctx context.Context, tx storage.Tx, among []*scannedSource) error {
	var plans []plan
	for _, x := range among {
		different := map[string]bool{}
		for _, d := range x.found.differences {
			different[d.Key] = d.Kind != WouldDeactivate && !d.settled
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
func (p *scannedPage) event() Event { return Event{Scope: p.scope, Type: p.origin} }

// findStale says which sources a repair would leave alone. It writes nothing.
func (p *scannedPage) findStale(ctx context.Context, from driver.Reader, among []*scannedSource) error {
	keys := make([]string, len(among))
	bySource := map[string]*scannedSource{}
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
func (p *scannedPage) compare(ctx context.Context, from driver.Reader, among []*scannedSource) error {
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
func (p *scannedPage) openRows(ctx context.Context, from driver.Reader, among []*scannedSource) (out []*scheduleRow, err error) {
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
func (p *scannedPage) otherRows(ctx context.Context, from driver.Reader, among []*scannedSource, rows map[string]*scheduleRow) error {
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
func (p *scannedPage) measure(ctx context.Context, from driver.Reader, among []*scannedSource) (map[*scannedSource]bool, error) {
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
	moved := map[*scannedSource]bool{}
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
	return moved, p.foreseeSeries(ctx, from, among)
}

// readings are the recorded ones, by key.
func (p *scannedPage) readings(ctx context.Context, from driver.Reader, keys []string) (map[string]*thresholdState, error) {
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
