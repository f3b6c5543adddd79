package automation

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/recur"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// gone is an occurrence whose row ended or was put on hold.
type gone struct {
	scope  Scope
	series string
	on     time.Time
	reason Reason // why it was deactivated
	stop   bool   // the series is not wanted any more
}

// maxStopped bounds how many rows in a row, that exist already and wait for a
// person, one transaction passes over.
const maxStopped = 100

// goneOf lists what is gone among whole rows. Where the setting is off the series
// stops with the row.
func goneOf(rows []*scheduleRow) []gone {
	var out []gone
	for _, r := range rows {
		if !r.recurs() || runs(r) {
			continue
		}
		g := r.gone()
		if r.Status == StatusDeactivated {
			g.reason, g.stop = r.ReasonCode, r.ReasonCode == reasons.ReminderSettingInactive
		}
		out = append(out, g)
	}
	return out
}

// gone is the occurrence that a row stands for.
func (r *scheduleRow) gone() gone {
	return gone{scope: r.Scope, series: r.seriesKey(), on: r.ScheduledOn}
}

// goneAmong lists what was ensured and found to be ended or on hold, or put on
// hold for a conflict. Of a row that was found only some columns are read, so
// the wanted one says what it stands for.
func goneAmong(ctx context.Context, from driver.Reader, wants []*scheduleRow, got []driver.Ensured[scheduleRow]) ([]gone, error) {
	out, err := passedOver(ctx, from, wants)
	for i, g := range got {
		if wants[i].recurs() && !runs(g.Row) && !wants[i].inShadow() {
			out = append(out, wants[i].gone())
		}
	}
	return out, err
}

// followRecurring moves series on whose current occurrence is gone. Rows that
// ended because their input changed are left to followChanged.
func (s recurrer) followRecurring(ctx context.Context, tx storage.Tx, rows []*scheduleRow) error {
	var left []gone
	for _, g := range goneOf(rows) {
		if g.reason != reasons.InputChanged {
			left = append(left, g)
		}
	}
	return s.advance(ctx, tx, left)
}

// followActed moves series on whose current occurrence support has held or
// cancelled.
func (s recurrer) followActed(ctx context.Context, tx storage.Tx, saved []note) error {
	rows := make([]*scheduleRow, len(saved))
	for i, n := range saved {
		rows[i] = n.row
	}
	return s.followRecurring(ctx, tx, rows)
}

// followChanged moves on what the source's candidates have not: by now they are
// ensured, each series from its next occurrence on and with its new input.
func (s recurrer) followChanged(ctx context.Context, tx storage.Tx, done []work.Done[scheduleRow, *decision]) error {
	var left []gone
	for _, d := range done {
		for _, g := range goneOf([]*scheduleRow{d.Row}) {
			if g.reason == reasons.InputChanged {
				left = append(left, g)
			}
		}
	}
	return s.advance(ctx, tx, left)
}

// advance makes the next rows of the series whose current occurrence is gone. Series
// whose occurrence is live are left alone, so repeated or late calls are safe.
func (s recurrer) advance(ctx context.Context, tx storage.Tx, left []gone) error {
	for range maxStopped {
		if len(left) == 0 {
			return nil
		}
		moved, err := s.moveSeries(ctx, tx, left)
		if err != nil {
			return err
		}
		rows := make([]*scheduleRow, 0, len(moved))
		for _, d := range moved {
			row, err := d.occurrence(s.now())
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
		was := map[*scheduleRow]past{}
		got, err := s.ensurer().ensureRows(ctx, tx, remember(was, decideSeriesAt(s.now(), nil)), rows...)
		if err != nil {
			return err
		}
		if err := tell(ctx, tx, actorSeries, ensuredNotes(got, was)); err != nil {
			return err
		}
		if left, err = goneAmong(ctx, tx, rows, got); err != nil {
			return err
		}
	}
	return nil // Health lists what is left without a row
}

// moveSeries writes the series that move on or stop, and returns those that have
// a new occurrence. Of those that somebody wrote meanwhile it looks again whether
// the occurrence is still the current one; the others of the call are written.
func (s recurrer) moveSeries(ctx context.Context, tx storage.Tx, left []gone) (moved []*series, err error) {
	err = driver.RetryStale("automation: a series", func() error {
		current, err := stillCurrent(ctx, tx, left)
		if err != nil {
			return err
		}
		var changed []*series
		for d, g := range current {
			moves, err := s.move(ctx, tx, d, g)
			if err != nil {
				return err
			}
			if moves {
				changed = append(changed, d)
			}
		}
		saved, err := saveSeries(ctx, tx, changed)
		moved = append(moved, slices.DeleteFunc(saved, func(d *series) bool { return !d.Active })...)
		return err
	})
	return moved, err
}

// saveSeries writes series, and gives those that it wrote. The error is
// storage.ErrStale if somebody else had written others.
func saveSeries(ctx context.Context, tx storage.Tx, all []*series) (saved []*series, err error) {
	err = seriesTable.Save(ctx, tx, all...)
	lost := &storage.StaleError{}
	if err != nil && !errors.As(err, &lost) {
		return nil, err
	}
	for i, d := range all {
		if !slices.Contains(lost.Rows, i) {
			saved = append(saved, d)
		}
	}
	return saved, err
}

// stillCurrent loads the active series whose current occurrence is gone.
func stillCurrent(ctx context.Context, from driver.Reader, left []gone) (map[*series]gone, error) {
	of := map[driver.ScopedKey][]gone{}
	for _, g := range left {
		place := driver.ScopedKey{Scope: g.scope, Key: g.series}
		of[place] = append(of[place], g)
	}
	found, err := seriesTable.GetMany(ctx, from, slices.Collect(maps.Keys(of)))
	out := map[*series]gone{}
	for place, d := range found {
		for _, g := range of[place] {
			if d.Active && d.NextOn.Equal(g.on) {
				out[d] = g
			}
		}
	}
	return out, err
}

// move takes a series to its next occurrence. A cadence that cannot be read here
// stays as it is, for it must not keep the row from being settled.
func (s recurrer) move(ctx context.Context, from driver.Reader, d *series, g gone) (bool, error) {
	if g.stop {
		d.Active = false
		return true, nil
	}
	line, err := d.timeline()
	if err != nil {
		s.opts.Logger.ErrorContext(ctx, "belfry: a series cannot go on", "type", d.Kind, "id", d.ID, "error", err)
		return false, nil
	}
	f := following{from: from, now: s.now(), d: d, line: line, gone: d.NextPeriod}
	next, ok, err := s.successor(ctx, &f, g)
	d.pass()
	d.moveTo(line, next, ok)
	return true, err
}

// successor is the occurrence behind one that is gone, as the type's [Lateness]
// has it. Where none of the process' types serves the row, every one runs.
func (s recurrer) successor(ctx context.Context, f *following, g gone) (recur.Occurrence, bool, error) {
	lateness := s.registry.lateness(f.d.Kind)
	from, now := g.on, s.now()
	switch {
	case g.reason == reasons.Overtaken:
		if latest, due, err := f.latest(ctx, from, now); due || err != nil {
			return latest, due, err
		}
	case g.reason == reasons.Shadow: // what has come was the old scheduler's
		from = later(from, now)
	case g.reason == reasons.TooLate && lateness.Window > 0: // so would be those before
		from = later(from, now.Add(-lateness.Window-time.Second))
	case lateness.SkipOverlapped:
		from = later(from, now)
	}
	return f.after(ctx, from)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// previewSeries gives plans of series the rows that takeSeries would ask for, and
// writes nothing: p.found is an occurrence that is and stays, p.moves says that
// the series has to be written, p.ends the occurrence that would end.
func previewSeries(ctx context.Context, from driver.Reader, now time.Time, plans []plan) ([]plan, error) {
	var places []driver.ScopedKey
	for _, p := range plans {
		if p.series != nil {
			places = append(places, p.seriesPlace())
		}
	}
	if len(places) == 0 {
		return plans, nil
	}
	stored, err := seriesTable.GetMany(ctx, from, places)
	if err != nil {
		return nil, err
	}
	rows, err := occurrencesOf(ctx, from, slices.Collect(maps.Values(stored)))
	if err != nil {
		return nil, err
	}
	t := taking{now: now, plans: slices.Clone(plans)}
	for i := range t.plans {
		p := &t.plans[i]
		if p.series == nil {
			continue
		}
		if err := t.preview(ctx, from, p, stored[p.seriesPlace()], rows); err != nil {
			return nil, err
		}
	}
	return t.plans, nil
}

func (p *plan) seriesPlace() driver.ScopedKey {
	return driver.ScopedKey{Scope: p.want.Scope, Key: p.series.want.Key}
}

// preview looks at one series; stored is nil if there is none.
func (t *taking) preview(ctx context.Context, from driver.Reader, p *plan, stored *series, rows map[int64]*scheduleRow) (err error) {
	if stored == nil {
		fresh := p.series.want
		fresh.begin(p.series.line, t.now)
		return t.fill(p, &fresh, nil)
	}
	after, row := *stored, rows[stored.ID]
	if p.moves, err = t.change(ctx, from, &after, p, row); err != nil {
		return err
	}
	if !p.moves {
		p.found = row
	} else if row != nil && runs(row) && !row.ScheduledOn.Equal(after.NextOn) {
		p.ends = row
	}
	return t.fill(p, &after, row)
}

// previewSeries finds out which rows the series of the sources ask for, in few
// statements for all of them.
func (p *page) previewSeries(ctx context.Context, from driver.Reader, among []*pageSource) error {
	var all []plan
	for _, x := range among {
		all = append(all, x.asked...)
	}
	all, err := p.s.ensurer().shadowSeries(ctx, from, all)
	if err == nil {
		all, err = previewSeries(ctx, from, p.now, all)
	}
	if err != nil {
		return err
	}
	for _, x := range among {
		n := len(x.asked)
		x.asked, all = all[:n:n], all[n:]
	}
	return nil
}
