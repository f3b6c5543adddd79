package automation

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// Lateness says what becomes of a row that is claimed long after its moment,
// because no process ran or an earlier one took long. The zero value runs each
// one however late; the occurrences of a series run one after the other, never
// two at once.
//
//spec:a-085
type Lateness struct {
	// CatchUp is how late a new row may be; an older candidate is answered with
	// OffsetPassed, so that a first import does not send every offset of the past at
	// once. It holds for a row that has ended and is asked for again, too. Default 24 h;
	// before an instant 15 min, so that "24 hours before" is not said at once about what
	// is booked for this afternoon. A series makes no row in the past.
	CatchUp time.Duration
	// Window is how late a row may be; a later one ends as Deactivated, TooLate.
	// Zero means that there is no limit. A series goes on with the first
	// occurrence that is not too late.
	Window time.Duration
	// OnlyLatest runs the last of several that are due together: the others end as
	// Deactivated, Overtaken. A series goes on with the last occurrence that is
	// due; those in between have no rows. Of date-based rows it compares the open
	// ones of one setting, source and trigger key: a later offset overtakes an
	// earlier one. Of a [Threshold] a later day, or rise, overtakes an earlier one.
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

// tooLate reports whether a row of that moment is not worth its work any more.
func (l Lateness) tooLate(now, scheduledOn time.Time) bool {
	return l.Window > 0 && now.Sub(scheduledOn) > l.Window
}

// checkOvertaken ends what a later row makes superfluous, where the type runs
// only the latest.
func (b *batch) checkOvertaken(ctx context.Context) {
	tries := b.open()
	if !b.lateness.OnlyLatest || len(tries) == 0 {
		return
	}
	var o overtaking
	err := b.read(ctx, func(from driver.Reader) (err error) {
		o, err = loadOvertaking(ctx, from, b.now, tries)
		return err
	})
	for _, t := range tries {
		if t.err = err; err == nil && o.overtaken(b.now, t.row) {
			t.stop = Overtaken
		}
	}
}

// overtaking is what the rows of a batch are compared with.
type overtaking struct {
	series map[occasion]*series
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
	d := o.series[r.occasion()]
	if d == nil || !d.Active || !d.NextOn.Equal(r.ScheduledOn) {
		return false // support has brought an old one back
	}
	line, err := d.timeline()
	if err != nil {
		return false
	}
	next, ok := line.After(r.ScheduledOn)
	return ok && !next.On.After(now)
}

// loadOvertaking takes a statement for all series, and one for each scope with dates.
func loadOvertaking(ctx context.Context, from driver.Reader, now time.Time, tries []*try) (overtaking, error) {
	o := overtaking{series: map[occasion]*series{}, latest: map[occasion]time.Time{}}
	recurring, dated := map[driver.Place]*try{}, map[Scope][]*try{}
	for _, t := range tries {
		scope := t.row.Scope
		if slices.Contains(oneByOne, t.row.TriggerType) {
			dated[scope] = append(dated[scope], t)
		} else if key := t.row.seriesKey(); key != "" {
			recurring[driver.Place{Scope: scope, Key: key}] = t
		}
	}
	found, err := seriesTable.GetMany(ctx, from, slices.Collect(maps.Keys(recurring)))
	if err != nil {
		return o, err
	}
	for place, d := range found {
		o.series[recurring[place].row.occasion()] = d
	}
	for scope, tries := range dated {
		if err := o.loadDated(ctx, from, scope, now, tries); err != nil {
			return o, err
		}
	}
	return o, nil
}

// loadDated reads the open rows of the sources, of which there are few.
func (o overtaking) loadDated(ctx context.Context, from driver.Reader, scope Scope, now time.Time, tries []*try) error {
	var settings, sources []string
	for _, t := range tries {
		settings, sources = append(settings, t.row.Setting), append(sources, t.row.Source)
	}
	where := []driver.Cond{
		driver.In("setting", settings), driver.In("source", sources),
		driver.In("trigger_type", oneByOne), driver.AtMost("scheduled_on", now), open(),
	}
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

// latePlans are the plans that ask for a moment that lies further back than CatchUp.
type latePlans struct {
	missing map[int]bool          // by their place: those without a row, which get none
	wants   map[*scheduleRow]bool // what they all want, which revives nothing
}

// tooLate finds those plans. Rows that are open are left to their type's Lateness.
func tooLate(ctx context.Context, from driver.Reader, now time.Time, plans []plan) (latePlans, error) {
	late := latePlans{missing: map[int]bool{}, wants: map[*scheduleRow]bool{}}
	var places []driver.Place
	for i := range plans {
		if p := &plans[i]; p.passed(now) {
			late.missing[i], late.wants[&p.want] = true, true
			places = append(places, schedules.PlaceOf(&p.want))
		}
	}
	exist, err := schedules.GetMany(ctx, from, places, "key")
	for i := range late.missing {
		if exist[schedules.PlaceOf(&plans[i].want)] != nil {
			delete(late.missing, i)
		}
	}
	return late, err
}
