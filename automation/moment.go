package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage/driver"
)

// defaultCatchUp is how far in the past a new reminder may lie.
const defaultCatchUp = 24 * time.Hour

// resolve computes when a date-based row is due: so many days before its date,
// at a time of day in a zone, and from there to UTC (Automation & Reminders,
// "Two trigger types"). It returns the field at fault beside an error.
//
//spec:a-093
func (s planner) resolve(ctx context.Context, want *scheduleRow, c Candidate, t ReminderType) (string, error) {
	local := c.TargetDate.AddDays(-c.DaysBefore)
	if local.IsZero() {
		return "DaysBefore", fmt.Errorf("%d days before %s is outside the years 1 to 9999", c.DaysBefore, c.TargetDate)
	}
	if t.BusinessDay != nil {
		shifted, err := rememberedOf(ctx).day(ctx, t, c, local)
		if err != nil {
			return "TargetDate", fmt.Errorf("business day for %s: %w", local, err)
		}
		local = shifted
	}
	sendAt, err := timeOfDay(cmp.Or(c.SendAt, t.SendAt))
	if err != nil {
		return "SendAt", err
	}
	zone, loc, err := s.zone(ctx, c, t)
	if err != nil {
		return "Zone", err
	}
	policy := civil.Policy{Gap: cmp.Or(c.Gap, t.Gap, GapForward), Overlap: cmp.Or(c.Overlap, t.Overlap, OverlapFirst)}
	if err := policy.Validate(); err != nil {
		return "Gap, Overlap", err
	}
	want.LocalDate, want.SendAt, want.TimeZone = local.String(), sendAt.String(), zone
	want.GapPolicy, want.OverlapPolicy = policy.Gap, policy.Overlap
	want.ScheduledOn, _, err = civil.Resolve(local, sendAt, loc, policy)
	return "TargetDate", err
}

func timeOfDay(text string) (civil.TimeOfDay, error) {
	if text == "" {
		return civil.TimeOfDay{}, errors.New("is not set, neither here nor by the type")
	}
	return civil.ParseTimeOfDay(text)
}

// zone is the candidate's, else the business unit's, else the type's.
func (s *core) zone(ctx context.Context, c Candidate, t ReminderType) (string, *time.Location, error) {
	name := c.Zone
	if name == "" && s.opts.Zone != nil {
		var err error
		if name, err = rememberedOf(ctx).zone(ctx, s.opts.Zone, c); err != nil {
			return "", nil, fmt.Errorf("of the business unit: %w", err)
		}
	}
	if name = cmp.Or(name, t.Zone); name == "" {
		return "", nil, errors.New("is not set, neither here nor by the business unit nor by the type")
	}
	loc, err := civil.LoadZone(name)
	return name, loc, err
}

// Resolution says how a local time became an instant.
type Resolution = civil.Resolution

// The resolutions: a local time exists once, was in a gap of the zone's clocks
// and moved, or existed twice.
const (
	ResolvedExact   = civil.Exact
	ResolvedForward = civil.ShiftedForward // to the end of the gap
	ResolvedBack    = civil.ShiftedBack    // to the second before the gap
	ResolvedFirst   = civil.FirstOfTwo
	ResolvedSecond  = civil.SecondOfTwo
)

// Occurrence is a moment at which a candidate happens: one of many for a
// [Recurrence], the only one otherwise.
type Occurrence struct {
	Key        string // of its row
	LocalDate  Date   // what was asked for, on the clocks of Zone
	LocalTime  string // 09:00, or 09:00:30
	Zone       string
	On         time.Time  // the instant, in UTC
	Resolution Resolution // how the local time became On
}

// occurrence is what a row of a series stands for.
func (r *scheduleRow) occurrence(date Date, zone *time.Location) (*Occurrence, error) {
	at, err := civil.ParseTimeOfDay(r.SendAt)
	if err != nil {
		return nil, err
	}
	on := r.ScheduledOn
	if _, occurrence, ok := seriesOf(r.Key); ok {
		on = occurrence // a rerun is scheduled later
	}
	_, how, err := civil.Resolve(date, at, zone, civil.Policy{Gap: r.GapPolicy, Overlap: r.OverlapPolicy})
	return &Occurrence{
		Key: r.Key, LocalDate: date, LocalTime: r.SendAt, Zone: r.TimeZone, On: on, Resolution: how,
	}, err
}

// maxPreview bounds a preview.
const maxPreview = 1000

// Preview lists the next n occurrences of a candidate from now on, at most 1000,
// or fewer if it ends: for one that does not recur its only moment, even if that
// has passed, or none if its local time does not exist and the policy is
// GapSkip. It reads no row and writes nothing; a [*CandidateError] says why the
// candidate would be refused.
func (s *Scheduler) Preview(ctx context.Context, c Candidate, n int) ([]Occurrence, error) {
	if n < 1 || n > maxPreview {
		return nil, fmt.Errorf("automation: Preview: %d occurrences; 1 to %d can be asked for", n, maxPreview)
	}
	plans, err := s.planner().plans(within(ctx, s.tx), []Candidate{c})
	if err != nil {
		return nil, err
	}
	p := plans[0]
	if p.series != nil {
		return p.series.preview(s.core, n)
	}
	if p.skipped {
		return nil, nil
	}
	row := p.want
	one := Occurrence{Key: row.Key, Zone: row.TimeZone, LocalTime: row.SendAt, On: row.ScheduledOn, Resolution: ResolvedExact}
	if row.TriggerType == DateBased {
		if one.LocalDate, one.Resolution, err = resolution(&row); err != nil {
			return nil, err
		}
	}
	return []Occurrence{one}, nil
}

// resolution says how the local time of a date-based row became its moment.
func resolution(r *scheduleRow) (Date, Resolution, error) {
	date, err := civil.ParseDate(r.LocalDate)
	if err != nil {
		return Date{}, "", err
	}
	zone, err := civil.LoadZone(r.TimeZone)
	if err != nil {
		return Date{}, "", err
	}
	o, err := r.occurrence(date, zone)
	if err != nil {
		return Date{}, "", err
	}
	return date, o.Resolution, nil
}

func (p *seriesPlan) preview(s *core, n int) ([]Occurrence, error) {
	var out []Occurrence
	for _, o := range p.line.Preview(s.now(), n) {
		key, err := p.want.key(o.On)
		if err != nil {
			return nil, err
		}
		out = append(out, Occurrence{
			Key: key, LocalDate: localDate(o), LocalTime: localTime(o).String(), Zone: p.want.TimeZone,
			On: o.On, Resolution: o.Resolution,
		})
	}
	return out, nil
}

// Lateness says what becomes of a row that is claimed long after its moment,
// because no process ran or an earlier one took long. The zero value runs each
// one however late; the occurrences of a series run one after the other, never
// two at once.
//
//spec:a-085
type Lateness struct {
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
var oneByOne = []TriggerType{DateBased, ThresholdCondition}

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

// lastAsked is the last moment at which anybody can ask for the row's key; not
// known where that may happen at any time.
func (m keeping) lastAsked(r *scheduleRow) (time.Time, bool) {
	switch key, _ := keys.Parse(r.Key); k := key.(type) {
	case keys.Reminder:
		return m.lastOfDates(r)
	case keys.Recurring:
		return k.Occurrence.Add(m.catchUp), true
	case keys.ReportRun:
		return r.ScheduledOn.Add(m.catchUp), true
	case keys.ManualReportRun:
		return r.EndedOn.Add(m.catchUp), true
	case keys.Threshold:
		if _, day, ok := strings.Cut(k.ScopeKey, "@"); ok && k.Policy == keys.OncePerDay {
			return m.lastOf(0, day)
		}
	}
	return r.EndedOn.Add(m.ForgetAfter), m.ForgetAfter > 0
}

// lastOfDates is that of a date-based row: for the day that its key stands for,
// and the one that a calendar made of it.
func (m keeping) lastOfDates(r *scheduleRow) (time.Time, bool) {
	target, known := m.lastOf(r.DaysBefore, r.TargetDate)
	local, alsoKnown := m.lastOf(0, r.LocalDate)
	if local.After(target) {
		target = local
	}
	if m.shifted {
		target = target.Add(businessDays)
	}
	return target, known && alsoKnown
}

// lastOf is the last moment for a date, so many days before another.
func (m keeping) lastOf(daysBefore int, date string) (time.Time, bool) {
	parsed, err := civil.ParseDate(date)
	if err != nil {
		return time.Time{}, false
	}
	day := parsed.AddDays(-daysBefore)
	return time.Date(day.Year, day.Month, day.Day, 0, 0, 0, 0, time.UTC).Add(anywhere + m.catchUp), !day.IsZero()
}
