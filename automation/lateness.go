package automation

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Lateness says what a moment that has passed is still worth: to a row that is claimed
// long after it, because no process ran or an earlier one took long, and to one that is
// asked for only now. The zero value runs each one that there is, however late; the
// occurrences of a series run one after the other, never two at once. docs/automation.md
// has the table of all cases.
type Lateness struct {
	// CatchUp is how late a new row may be; an older candidate is answered with
	// OffsetPassed, so that a first import does not send every offset of the past at
	// once. It holds for a row that has ended and is asked for again, too. Default 24 h;
	// before an instant 15 min, so that "24 hours before" is not said at once about what
	// is booked for this afternoon. It ends with the beginning of the target day where the
	// reminder was for a day before it. A series makes no row in the past.
	CatchUp time.Duration
	// Window is how late any row may be; a later one ends as Deactivated, TooLate, and
	// none is made. Zero means that there is no limit. A series goes on with the first
	// occurrence that is not too late.
	Window time.Duration
	// OnlyLatest runs the last of several whose moment has come: the others end as
	// Deactivated, Overtaken, also while they wait for a retry, and none is made. A
	// series goes on with the last occurrence that is due; those in between have no
	// rows. Of rows before a date or an instant it compares those of one setting, source
	// and trigger key: a later offset overtakes an earlier one. Of a [threshold.Threshold] a later
	// day, or rise, overtakes an earlier one. What is on hold is left out.
	OnlyLatest bool
	// SkipOverlapped leaves out the occurrences of a series whose moment passed
	// before the row of an earlier one ended, because it waited, ran or was tried
	// again: the series goes on with the first one that lies ahead. Where support
	// holds or cancels the row in a process that does not register the type, the
	// next occurrence is made all the same.
	SkipOverlapped bool
}

// negative reports whether it makes no sense.
func (l Lateness) negative() bool { return l.CatchUp < 0 || l.Window < 0 }

// verdict says why the moment of an open row is worth nothing any more; empty: it is. It is
// overtaken where a later one of its occasion has come.
func (l Lateness) verdict(late time.Duration, overtaken bool) Reason {
	switch {
	case l.Window > 0 && late > l.Window:
		return reasons.TooLate
	case l.OnlyLatest && overtaken:
		return reasons.Overtaken
	}
	return ""
}

// worthless are the plans, by their place, for which it is too late to make a row, and
// what they come too late for.
func worthless(now time.Time, plans []plan) map[int]string {
	latest := map[occasion]time.Time{}
	for i := range plans {
		if p := &plans[i]; p.lateness.OnlyLatest && !p.skipped && !p.want.ScheduledOn.After(now) {
			o := p.want.occasion()
			latest[o] = later(latest[o], p.want.ScheduledOn)
		}
	}
	out := map[int]string{}
	for i := range plans {
		p := &plans[i]
		if p.lateness == (Lateness{}) || p.skipped {
			continue
		}
		overtaken := p.lateness.OnlyLatest && latest[p.want.occasion()].After(p.want.ScheduledOn)
		if limit := p.lateness.limits(now, &p.want, overtaken); limit != "" {
			out[i] = limit
		}
	}
	return out
}

// untrue reports whether a row would say what is no longer so: that something is in some
// days or hours, where the day itself has begun, or the instant is past.
func (r *scheduleRow) untrue(now time.Time) bool {
	if r.ScheduledOn.After(now) {
		return false
	}
	if k, ok := r.instant(); ok {
		return k.Before > 0 && !now.Before(k.Start)
	}
	if r.TriggerType != DateBased || r.DaysBefore < 1 {
		return false
	}
	begin, ok := r.targetDay(0)
	return ok && !now.Before(begin)
}

// validUntil is the moment of what a row is about, from which on nothing of it is sent;
// zero: it is due behind it, or is about none, or a person has it done once more.
func (r *scheduleRow) validUntil() time.Time {
	if r.baseKey() != r.Key {
		return time.Time{}
	}
	if k, ok := r.instant(); ok && k.Before > 0 {
		return k.Start
	}
	if r.TriggerType != DateBased || r.DaysBefore < 0 {
		return time.Time{}
	}
	end, _ := r.targetDay(1)
	return end
}

// targetDay is the beginning of a row's target day, or of a day behind it, in its zone.
// False: a calendar has moved the row past that.
func (r *scheduleRow) targetDay(behind int) (time.Time, bool) {
	target, err := civil.ParseDate(r.TargetDate)
	if err != nil {
		return time.Time{}, false
	}
	zone, err := civil.LoadZone(r.TimeZone)
	if err != nil {
		return time.Time{}, false
	}
	on, _, err := civil.Resolve(target.AddDays(behind), civil.TimeOfDay{}, zone, civil.Policy{})
	if err != nil || !r.ScheduledOn.Before(on) {
		return time.Time{}, false
	}
	return on, true
}

// checkLateness ends what is not worth its work any more.
func (b *batch) checkLateness(context.Context) {
	if b.lateness.Window == 0 {
		return
	}
	for _, t := range b.open() {
		t.stop = b.lateness.verdict(b.now.Sub(t.row.ScheduledOn), false)
	}
}

// checkOvertaken ends what a later row makes superfluous, where the type runs
// only the latest.
func (b *batch) checkOvertaken(ctx context.Context) {
	if !b.lateness.OnlyLatest {
		return
	}
	tries := b.open()
	if len(tries) == 0 {
		return
	}
	var o overtaking
	err := b.read(ctx, func(from driver.Reader) (err error) {
		o, err = loadOvertaking(ctx, from, b.now, tries)
		return err
	})
	for _, t := range tries {
		if t.err = err; err == nil {
			t.stop = b.lateness.verdict(b.now.Sub(t.row.ScheduledOn), o.overtaken(b.now, t.row))
		}
	}
}

// overtaking is what the rows of a batch are compared with.
type overtaking struct {
	next   map[occasion]time.Time // of series: the occurrence behind the current one
	latest map[occasion]time.Time // of the open rows of dates and conditions that are due
}

// occasion is what earlier and later rows have in common.
type occasion struct {
	scope               Scope
	setting             string
	source              Source
	automation, trigger string
}

func (r *scheduleRow) occasion() occasion {
	if r.TriggerType == ThresholdCondition {
		id, _, _ := conditionOf(r)
		return occasion{r.Scope, r.Setting, Source{r.SourceType, r.Source}, r.AutomationType, id.state}
	}
	return occasion{r.Scope, r.Setting, Source{r.SourceType, r.Source}, r.AutomationType, r.TriggerKey}
}

// oneByOne are the triggers whose rows exist side by side.
var oneByOne = []TriggerType{DateBased, InstantBased, ThresholdCondition}

func (o overtaking) overtaken(now time.Time, r *scheduleRow) bool {
	if slices.Contains(oneByOne, r.TriggerType) {
		return o.latest[r.occasion()].After(r.ScheduledOn)
	}
	next, ok := o.next[r.occasion()]
	return ok && !next.After(now)
}

// loadOvertaking takes a statement for all series, and one for each scope with dates. A
// series whose next period may be past takes one more.
func loadOvertaking(ctx context.Context, from driver.Reader, now time.Time, tries []*try) (overtaking, error) {
	o := overtaking{next: map[occasion]time.Time{}, latest: map[occasion]time.Time{}}
	recurring, dated := map[driver.ScopedKey]*try{}, map[Scope][]*try{}
	for _, t := range tries {
		scope := t.row.Scope
		if slices.Contains(oneByOne, t.row.TriggerType) {
			dated[scope] = append(dated[scope], t)
		} else if key := t.row.seriesKey(); key != "" {
			recurring[driver.ScopedKey{Scope: scope, Key: key}] = t
		}
	}
	found, err := seriesTable.GetMany(ctx, from, slices.Collect(maps.Keys(recurring)))
	if err != nil {
		return o, err
	}
	for place, d := range found {
		if err := o.loadNext(ctx, from, now, d, recurring[place].row); err != nil {
			return o, err
		}
	}
	for scope, tries := range dated {
		if err := o.loadDated(ctx, from, scope, now, tries); err != nil {
			return o, err
		}
	}
	return o, nil
}

// loadNext looks behind the current occurrence of a series, unless the row is another one,
// which support has brought back.
func (o overtaking) loadNext(ctx context.Context, from driver.Reader, now time.Time, d *series, r *scheduleRow) error {
	if !d.Active || !d.NextOn.Equal(r.ScheduledOn) {
		return nil
	}
	line, err := d.timeline()
	if err != nil {
		return nil // it cannot go on here
	}
	f := following{from: from, now: now, d: d, line: line, gone: d.NextPeriod}
	next, ok, err := f.after(ctx, r.ScheduledOn)
	if ok {
		o.next[r.occasion()] = next.On
	}
	return err
}

// loadDated reads the open rows of the sources, of which there are few.
func (o overtaking) loadDated(ctx context.Context, from driver.Reader, scope Scope, now time.Time, tries []*try) error {
	rows := make([]*scheduleRow, len(tries))
	for i, t := range tries {
		rows[i] = t.row
	}
	where := append(dueBeside(now, rows), open())
	for after := (*driver.Position)(nil); ; {
		rows, err := schedules.Find(ctx, from, scope, driver.Query{Where: where, Limit: deactivatePage, After: after})
		if err != nil {
			return err
		}
		for _, r := range rows {
			if runs(r) {
				o.latest[r.occasion()] = later(o.latest[r.occasion()], r.ScheduledOn)
			}
		}
		if len(rows) < deactivatePage {
			return nil
		}
		after = &driver.Position{ID: rows[len(rows)-1].ID}
	}
}

// endOvertaken ends what waits behind rows that went out: an earlier one, in retry, is
// not told after a later one.
func (s worker) endOvertaken(ctx context.Context, tx storage.Tx, rows []*scheduleRow) error {
	latest := map[Scope]map[occasion]time.Time{}
	done := map[Scope][]*scheduleRow{}
	for _, r := range rows {
		if r.Status != StatusCompleted || !slices.Contains(oneByOne, r.TriggerType) || !s.registry.lateness(r.Kind).OnlyLatest {
			continue
		}
		if latest[r.Scope] == nil {
			latest[r.Scope] = map[occasion]time.Time{}
		}
		o := r.occasion()
		latest[r.Scope][o] = later(latest[r.Scope][o], r.ScheduledOn)
		done[r.Scope] = append(done[r.Scope], r)
	}
	for scope, done := range done {
		_, err := s.ensurer().deactivateBy(ctx, tx, Event{Scope: scope}, actorDuePass, dueBeside(s.now(), done), func(r *scheduleRow) (Reason, bool) {
			return reasons.Overtaken, runs(r) && latest[scope][r.occasion()].After(r.ScheduledOn)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dueBeside describes the rows that are due beside others, of the same sources.
func dueBeside(now time.Time, rows []*scheduleRow) []driver.Cond {
	var settings, sources []string
	for _, r := range rows {
		settings, sources = append(settings, r.Setting), append(sources, r.Source)
	}
	return []driver.Cond{
		driver.In("setting", settings), driver.In("source", sources),
		driver.In("trigger_type", oneByOne), driver.AtMost("scheduled_on", now),
	}
}

// latePlans are the plans, by their place, that ask for a moment that is worth nothing any
// more, and what they come too late for.
type latePlans struct {
	missing map[int]string // those without a row, which get none
	all     map[int]string // which revive nothing
}

// wants are what they want.
func (l latePlans) wants(plans []plan) map[*scheduleRow]bool {
	out := map[*scheduleRow]bool{}
	for i := range l.all {
		out[&plans[i].want] = true
	}
	return out
}

// tooLate finds those plans. Rows that are open are left to their type's Lateness.
func tooLate(ctx context.Context, from driver.Reader, now time.Time, plans []plan) (latePlans, error) {
	late := latePlans{missing: map[int]string{}, all: worthless(now, plans)}
	var places []driver.ScopedKey
	for i := range late.all {
		places = append(places, schedules.ScopedKeyOf(&plans[i].want))
	}
	exist, err := schedules.GetMany(ctx, from, places, "key")
	for i, limit := range late.all {
		if exist[schedules.ScopedKeyOf(&plans[i].want)] == nil {
			late.missing[i] = limit
		}
	}
	return late, err
}
