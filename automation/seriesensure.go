package automation

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/internal/recur"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// takeSeries makes sure of the series that plans ask for, and returns the plans
// with the row that each asks for now: the current occurrence, as long as it is
// open and the cadence is what it was, or it is due, else the first one from now on. It takes
// few statements, and writes nothing where nothing has changed.
func (s ensurer) takeSeries(ctx context.Context, tx storage.Tx, plans []plan, origin Event, by author) ([]plan, error) {
	t := taking{s: s.core, tx: tx, now: s.now(), origin: origin, by: by, plans: plans, again: map[int]int{}}
	open, err := t.begin()
	if err != nil || len(open) == 0 {
		return plans, err
	}
	if t.plans, err = s.shadowSeries(ctx, tx, plans); err != nil { // a copy, for the transaction may run again
		return nil, err
	}
	if err := driver.RetryStale("automation: a series", func() error { return t.round(ctx, open) }); err != nil {
		return nil, err
	}
	for i, first := range t.again {
		t.plans[i].want, t.plans[i].ended, t.plans[i].found = t.plans[first].want, t.plans[first].ended, t.plans[first].found
	}
	return t.plans, nil
}

// taking is one call of takeSeries.
type taking struct {
	s      *core
	tx     storage.Tx
	now    time.Time
	origin Event
	by     author // for the history
	plans  []plan
	again  map[int]int // places of plans that repeat a series, and where it was first
}

// begin lists the places of plans with a series, each series once.
func (t *taking) begin() (places []int, err error) {
	type identity struct {
		scope Scope
		key   string
	}
	first := map[identity]int{}
	for i, p := range t.plans {
		if p.series == nil {
			continue
		}
		id := identity{p.want.Scope, p.series.want.Key}
		n, repeated := first[id]
		if !repeated {
			first[id], places = i, append(places, i)
			continue
		}
		if other := &t.plans[n].series.want; !other.sameCadence(&p.series.want) || !other.sameRest(&p.series.want) {
			return nil, &CandidateError{Index: i, Type: p.want.Kind, Field: "Recurrence", Err: errors.New("another candidate of the call says otherwise")}
		}
		t.again[i] = n
	}
	return places, nil
}

// round looks at all series once. The error is storage.ErrStale if somebody wrote one
// of them, or its row, meanwhile.
func (t *taking) round(ctx context.Context, places []int) error {
	got, err := seriesTable.Ensure(ctx, t.tx, asStored, t.wants(places)...)
	if err != nil {
		return err
	}
	rows, err := currentRows(ctx, t.tx, got)
	if err != nil {
		return err
	}
	var changed []*series
	var ended []note
	for n, g := range got {
		row := rows[g.Row.ID]
		p := &t.plans[places[n]]
		if p.found = nil; g.Outcome == storage.Created {
			continue
		}
		differs, err := t.change(ctx, t.tx, g.Row, p, row)
		if err != nil {
			return err
		}
		if !differs {
			p.found = row
			continue
		}
		changed = append(changed, g.Row)
		if row != nil && runs(row) && !row.ScheduledOn.Equal(g.Row.NextOn) {
			ended = append(ended, t.end(row))
		}
	}
	if err := t.save(ctx, ended, changed); err != nil {
		return err
	}
	for n, g := range got {
		if err := t.fill(&t.plans[places[n]], g.Row, rows[g.Row.ID]); err != nil {
			return err
		}
	}
	return nil
}

// asStored leaves an existing series to the round.
func asStored(*series, *series) (storage.Outcome, bool) { return storage.Unchanged, false }

// wants are the series as they are made.
func (t *taking) wants(places []int) []*series {
	out := make([]*series, len(places))
	for n, i := range places {
		want := t.plans[i].series.want
		want.CreatedOn, want.EventType, want.EventID = t.now, t.origin.Type, t.origin.ID
		want.begin(t.plans[i].series.line, t.now)
		out[n] = &want
	}
	return out
}

// begin makes the first occurrence later than t that of a series that has had none.
func (d *series) begin(line recur.Timeline, t time.Time) {
	o, ok := line.After(t)
	d.moveTo(line, o, ok)
}

// change brings a stored series up to date and reports whether it was not. row
// is the current occurrence's; nil: there is none.
func (t *taking) change(ctx context.Context, from driver.Reader, stored *series, of *plan, row *scheduleRow) (bool, error) {
	p := of.series
	same := stored.sameCadence(&p.want)
	goesOn := stored.Active && row != nil && runs(row)
	due := goesOn && !row.ScheduledOn.After(t.now)
	if of.shadow && row != nil && row.inShadow() {
		goesOn = stored.Active && row.ScheduledOn.After(t.now)
	}
	ended := !stored.Active && stored.NextOn.IsZero()
	switch {
	case same && (goesOn || ended) && stored.sameRest(&p.want):
		return false, nil
	case same && goesOn, due: // the occurrence stays: one that is due, whatever changes
		stored.adopt(&p.want, t.origin)
		return true, nil
	}
	f := following{from: from, now: t.now, d: stored, line: p.line}
	switch {
	case row != nil && runs(row):
		f.ends = row.Key
	case row != nil && row.isHad(t.now):
		stored.pass()
	}
	stored.adopt(&p.want, t.origin)
	next, ok, err := f.after(ctx, t.now)
	stored.moveTo(p.line, next, ok)
	return true, err
}

// end ends the occurrence of a cadence that was.
func (t *taking) end(row *scheduleRow) note {
	n := note{row, row.past(), actionDeactivated, string(reasons.Superseded)}
	row.EventType, row.EventID = t.origin.Type, t.origin.ID
	row.deactivate(t.now, reasons.Superseded)
	return n
}

// save writes the rows that end, then the series. The error is storage.ErrStale if
// somebody wrote one of them meanwhile.
func (t *taking) save(ctx context.Context, ended []note, changed []*series) error {
	if err := t.s.saveAllAndTell(ctx, t.tx, t.by, ended); err != nil {
		return err
	}
	return seriesTable.Save(ctx, t.tx, changed...)
}

// fill names the row that the plan asks for; row is the current occurrence's before. If
// it stays it has the moment that it was made for, whatever the cadence says by now.
func (t *taking) fill(p *plan, d *series, row *scheduleRow) error {
	if p.ended = !d.Active; p.ended {
		return nil
	}
	want, err := d.occurrence(t.now)
	if err != nil {
		return err
	}
	if stays := row != nil && row.Key == want.Key && !row.ScheduledOn.After(t.now); stays {
		want.TargetDate, want.LocalDate, want.SendAt, want.TimeZone = row.TargetDate, row.LocalDate, row.SendAt, row.TimeZone
		want.GapPolicy, want.OverlapPolicy = row.GapPolicy, row.OverlapPolicy
	}
	p.want = *want
	return nil
}

// asFound answers for the occurrence of a series that is as it was.
func asFound(row *scheduleRow) Ensured {
	if row.Status == StatusProcessing {
		return answer(storage.InFlight, row, row)
	}
	return answer(storage.Unchanged, row, row)
}

// decideSeriesAt is decideAt, except that an occurrence that a series moves to is
// written even if it runs already: whoever ends or holds it at this moment has
// not seen that it is the current one, and looks again.
func decideSeriesAt(now time.Time, late map[*scheduleRow]bool) driver.Decide[scheduleRow] {
	decide := decideAt(now, late)
	return func(stored, want *scheduleRow) (storage.Outcome, bool) {
		outcome, write := decide(stored, want)
		return outcome, write || want.recurs() && runs(stored)
	}
}

// stopSeries ends the series of the rows. A settling pass may have moved one on
// while its row was looked at: then the row of the new occurrence ends as well.
func (d *ending) stopSeries(ctx context.Context) error {
	if len(d.series) == 0 {
		return nil
	}
	var stopped []*series
	err := driver.RetryStale("automation: a series that an event ends", func() error {
		found, err := seriesTable.Find(ctx, d.tx, d.event.Scope, driver.Query{
			Where: []driver.Cond{driver.In("key", slices.Collect(maps.Keys(d.series)))}, Limit: len(d.series),
		})
		if err != nil {
			return err
		}
		found = slices.DeleteFunc(found, func(s *series) bool { return !s.Active })
		for _, s := range found {
			s.Active = false
			s.EventType, s.EventID = d.event.Type, d.event.ID
		}
		saved, err := saveSeries(ctx, d.tx, found)
		stopped = append(stopped, saved...)
		return err
	})
	if err != nil {
		return err
	}
	return d.endCurrent(ctx, stopped)
}

// endCurrent ends the rows of current occurrences that still run.
func (d *ending) endCurrent(ctx context.Context, stopped []*series) error {
	rows, err := occurrencesOf(ctx, d.tx, stopped)
	if err != nil {
		return err
	}
	var running []*scheduleRow
	for _, row := range rows {
		if runs(row) {
			running = append(running, row)
		}
	}
	d.why = func(row *scheduleRow) (Reason, bool) { return d.series[row.seriesKey()], true }
	return d.end(ctx, running)
}

// deactivateOnly ends rows and nothing else: the series of an occurrence that
// ends goes on behind it.
func (s ensurer) deactivateOnly(ctx context.Context, tx storage.Tx, e Event, by author, where []driver.Cond, most int, why func(*scheduleRow) (Reason, bool)) ([]Deactivation, error) {
	d := s.ending(tx, e, by, why)
	d.skips = true
	if err := d.rows(ctx, where, most); err != nil {
		return nil, err
	}
	var left []gone
	for _, ended := range d.ended {
		if key, on, ok := seriesOf(ended.Key); ok {
			left = append(left, gone{scope: e.Scope, series: key, on: on, reason: ended.Reason})
		}
	}
	return d.ended, s.recurrer().advance(ctx, tx, left)
}

// passedOver are the occurrences among rows in shadow that the old scheduler has
// although their part is past it: it asked for them before there was a row, or ran
// early, or support gave them back. No move wakes their series, so it goes on with the
// next occurrence.
func passedOver(ctx context.Context, from driver.Reader, rows []*scheduleRow) ([]gone, error) {
	var shadows []*scheduleRow
	var parts []cutover.Part
	for _, r := range rows {
		if r.recurs() && r.inShadow() {
			shadows, parts = append(shadows, r), append(parts, r.rolloutPart())
		}
	}
	if len(shadows) == 0 {
		return nil, nil
	}
	stages, err := loadStages(ctx, from, parts)
	var out []gone
	for i, r := range shadows {
		if stageRuns(stages.of(parts[i]), r.Key) {
			out = append(out, r.gone())
		}
	}
	return out, err
}

// moveTo makes o the current occurrence; without one the series has ended.
func (d *series) moveTo(line recur.Timeline, o recur.Occurrence, ok bool) {
	d.Active, d.NextOn, d.NextLocalDate, d.NextLocalTime, d.NextPeriod = ok, time.Time{}, "", "", ""
	if ok {
		d.NextOn, d.NextLocalDate, d.NextLocalTime, d.NextPeriod = o.On, localDate(o).String(), localTime(o).String(), period(line, o)
	}
}
