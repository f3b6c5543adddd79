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

	"github.com/belfry-go/belfry/automation/dst"
	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/internal/recur"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// series is a row of automation_series: what recurs, and which occurrence of it
// is the current one, that has a row in automation_scheduler. Its Type is the
// reminder type that serves the occurrences. It is never due.
//
// Whoever moves a series on first writes the occurrence's row, if at all, then
// the series and then the row of the next one: always in this order, so that an
// event and a settling pass do not lock each other out.
type series struct {
	storage.Record

	AutomationType string    `db:"automation_type,fixed,plain"`
	Setting        string    `db:"setting,fixed,plain"`
	SourceType     string    `db:"source_type,fixed,plain"`
	Source         string    `db:"source,fixed,person"`
	TriggerKey     string    `db:"trigger_key,fixed,plain"`
	CreatedOn      time.Time `db:"created_on,fixed"`
	Lane           int16     `db:"lane,fixed"` // of its occurrences

	BusinessUnit string `db:"business_unit,plain"`
	Person       string `db:"person,null,person"`
	InputHash    string `db:"input_hash,plain"` // of the occurrences to come

	Cron          string            `db:"cron,plain"`
	RRule         string            `db:"rrule,plain"`
	StartDate     string            `db:"start_date,plain"` // 2006-01-02; empty: none
	EndDate       string            `db:"end_date,plain"`
	ExceptDates   string            `db:"except_dates,plain"` // 2006-01-02,…
	StartTime     string            `db:"start_time,plain"`   // 15:04; empty with cron
	TimeZone      string            `db:"time_zone,plain"`
	GapPolicy     dst.GapPolicy     `db:"gap_policy,plain"`
	OverlapPolicy dst.OverlapPolicy `db:"overlap_policy,plain"`

	// Active series have a current occurrence.
	Active        bool      `db:"active"`
	NextOn        time.Time `db:"next_on"`               // the current occurrence, in UTC; zero: it has ended
	NextLocalDate string    `db:"next_local_date,plain"` // what the cadence says for it
	NextLocalTime string    `db:"next_local_time,plain"`
	NextPeriod    string    `db:"next_period,plain"` // see period
	PastPeriod    string    `db:"past_period,plain"` // the furthest that is past; empty: none is

	EventType string `db:"event_type,plain"` // the event that last wrote the row; empty: the host
	EventID   string `db:"event_id,plain"`
}

var seriesTable = driver.Define[series]("automation_series").Grows(driver.WithEntities).
	Kept(driver.Always, "where a recurring reminder is").Limit(maxRow)

// seriesKey is the identity of a series. The parts have passed a key's checks.
func seriesKey(automationType, setting string, source Source, triggerKey string) string {
	key, err := keys.Join(automationType, setting, source.Type, source.ID, triggerKey)
	if err != nil {
		return "" // of a row that somebody else wrote: no series has it
	}
	return key
}

// recurs reports whether the row is an occurrence of a series.
func (r *scheduleRow) recurs() bool {
	return r.TriggerType == Recurring || r.AutomationType == TypeReportSubscription && r.TriggerType == ScheduledRun
}

// seriesKey is empty unless the row is an occurrence of a series.
func (r *scheduleRow) seriesKey() string {
	if !r.recurs() {
		return ""
	}
	return seriesKey(r.AutomationType, r.Setting, Source{r.SourceType, r.Source}, r.TriggerKey)
}

// baseSeriesKey is that of the row that a rerun repeats.
func (r *scheduleRow) baseSeriesKey() string {
	base, _ := baseTriggerKey(r.TriggerKey)
	again := *r
	again.TriggerKey = base
	return again.seriesKey()
}

// cadence is the rule as people read it.
func (d *series) cadence() string {
	text := "cron " + d.Cron
	if d.RRule != "" {
		text = "RRULE " + d.RRule + " at " + d.StartTime
	}
	if d.StartDate != "" {
		text += " from " + d.StartDate
	}
	if d.EndDate != "" {
		text += " to " + d.EndDate
	}
	if d.ExceptDates != "" {
		text += " but not on " + strings.ReplaceAll(d.ExceptDates, ",", ", ")
	}
	return text
}

// timeline is the cadence in its zone. The error is for a rule or zone that this
// version, or this machine, does not know.
func (d *series) timeline() (recur.Timeline, error) {
	spec := recur.Spec{Cron: d.Cron, RRule: d.RRule}
	err := spec.Start.UnmarshalText([]byte(d.StartDate))
	if err == nil {
		err = spec.End.UnmarshalText([]byte(d.EndDate))
	}
	if err == nil && d.ExceptDates != "" {
		spec.Except, err = datesOf(d.ExceptDates)
	}
	if err == nil && d.StartTime != "" {
		spec.At, err = civil.ParseTimeOfDay(d.StartTime)
	}
	if err != nil {
		return recur.Timeline{}, err
	}
	cadence, err := recur.Parse(spec)
	if err != nil {
		return recur.Timeline{}, err
	}
	zone, err := civil.LoadZone(d.TimeZone)
	return recur.Timeline{Cadence: cadence, Zone: zone, Policy: civil.Policy{Gap: d.GapPolicy, Overlap: d.OverlapPolicy}}, err
}

// sameCadence reports whether d and want have the same occurrences.
func (d *series) sameCadence(want *series) bool {
	return d.Cron == want.Cron && d.RRule == want.RRule && d.StartDate == want.StartDate && d.EndDate == want.EndDate && d.ExceptDates == want.ExceptDates &&
		d.StartTime == want.StartTime && d.TimeZone == want.TimeZone && d.GapPolicy == want.GapPolicy && d.OverlapPolicy == want.OverlapPolicy
}

// sameRest reports whether nothing else of the definition differs.
func (d *series) sameRest(want *series) bool {
	return d.Kind == want.Kind && d.BusinessUnit == want.BusinessUnit && d.Person == want.Person && d.InputHash == want.InputHash
}

// adopt takes over the definition, and who asked for it.
func (d *series) adopt(want *series, origin Event) {
	d.Kind, d.BusinessUnit, d.Person, d.InputHash = want.Kind, want.BusinessUnit, want.Person, want.InputHash
	d.Cron, d.RRule, d.StartDate, d.EndDate, d.StartTime = want.Cron, want.RRule, want.StartDate, want.EndDate, want.StartTime
	d.ExceptDates = want.ExceptDates
	d.TimeZone, d.GapPolicy, d.OverlapPolicy = want.TimeZone, want.GapPolicy, want.OverlapPolicy
	d.EventType, d.EventID = origin.Type, origin.ID
}

func localDate(o recur.Occurrence) Date { return civil.DateOf(o.Local, time.UTC) }

func localTime(o recur.Occurrence) civil.TimeOfDay {
	return civil.TimeOfDay{Hour: o.Local.Hour(), Minute: o.Local.Minute(), Second: o.Local.Second()}
}

// key is the SchedulerKey of an occurrence.
func (d *series) key(on time.Time) (string, error) {
	switch d.AutomationType {
	case TypeReminder:
		return keys.Recurring{
			Setting: d.Setting, SourceType: d.SourceType, Source: d.Source, TriggerKey: d.TriggerKey, Occurrence: on,
		}.Key()
	case TypeReportSubscription:
		return keys.ReportRun{Subscription: d.Source, On: on}.Key()
	}
	return keys.HostRun{Type: d.AutomationType, SourceType: d.SourceType, Source: d.Source, TriggerKey: d.TriggerKey, On: on}.Key()
}

// seriesOf is the series that the key of an occurrence belongs to, and the
// occurrence; false for other keys.
func seriesOf(key string) (series string, on time.Time, ok bool) {
	parsed, _ := keys.Parse(key)
	switch k := parsed.(type) {
	case keys.Recurring:
		return seriesKey(TypeReminder, k.Setting, Source{k.SourceType, k.Source}, k.TriggerKey), k.Occurrence, true
	case keys.HostRun:
		return seriesKey(k.Type, k.Type, Source{k.SourceType, k.Source}, k.TriggerKey), k.On, k.Run == ""
	case keys.ReportRun:
		report := TypeReportSubscription
		return seriesKey(report, report, Source{report, k.Subscription}, defaultTriggerKey), k.On, true
	}
	return "", time.Time{}, false
}

// triggerType is that of the occurrences.
func (d *series) triggerType() TriggerType {
	if d.AutomationType == TypeReportSubscription {
		return ScheduledRun
	}
	return Recurring
}

// occurrence is the row of the current occurrence, as it is made.
func (d *series) occurrence(now time.Time) (*scheduleRow, error) {
	key, err := d.key(d.NextOn)
	r := &scheduleRow{
		Due:            driver.Due{Record: storage.Record{Scope: d.Scope, Key: key, Kind: d.Kind, Status: StatusPending}, Lane: d.Lane},
		AutomationType: d.AutomationType, TriggerType: d.triggerType(), BusinessUnit: d.BusinessUnit, Person: d.Person, Setting: d.Setting,
		SourceType: d.SourceType, Source: d.Source, TriggerKey: d.TriggerKey, InputHash: d.InputHash, CreatedOn: now,
		ScheduledOn: d.NextOn, TargetDate: d.NextPeriod, LocalDate: d.NextLocalDate, SendAt: d.NextLocalTime,
		TimeZone: d.TimeZone, GapPolicy: d.GapPolicy, OverlapPolicy: d.OverlapPolicy,
		EventType: d.EventType, EventID: d.EventID,
	}
	r.DueOn = r.dueOn()
	return r, err
}

// runs reports whether a row is on its way: due some day, or held by a worker.
func runs(r *scheduleRow) bool { return r.IsOpen() && !r.IsOnSupportHold }

// currentRows gives the rows of current occurrences, by the id of the series.
func currentRows(ctx context.Context, from driver.Reader, got []driver.Ensured[series]) (map[int64]*scheduleRow, error) {
	var stored []*series
	for _, g := range got {
		if g.Outcome != storage.Created {
			stored = append(stored, g.Row)
		}
	}
	return occurrencesOf(ctx, from, stored)
}

// occurrencesOf gives the rows of current occurrences, by the id of the series.
func occurrencesOf(ctx context.Context, from driver.Reader, stored []*series) (map[int64]*scheduleRow, error) {
	ids := map[driver.ScopedKey]int64{}
	for _, d := range stored {
		if d.NextOn.IsZero() {
			continue
		}
		key, err := d.key(d.NextOn)
		if err != nil {
			return nil, err
		}
		ids[driver.ScopedKey{Scope: d.Scope, Key: key}] = d.ID
	}
	found, err := schedules.GetMany(ctx, from, slices.Collect(maps.Keys(ids)))
	out := map[int64]*scheduleRow{}
	for place, row := range found {
		out[ids[place]] = row
	}
	return out, err
}

// seriesPlan is the series that a candidate asks for.
type seriesPlan struct {
	want series
	line recur.Timeline
}

// planRecurring is the series of a recurring reminder. Which row it asks for is
// known when the stored series has been read; until then the plan names the
// first occurrence from now on.
func (s planner) planRecurring(ctx context.Context, c Candidate, t ReminderType) (plan, string, error) {
	if field, err := c.checkRecurring(); err != nil {
		return plan{}, field, err
	}
	c.AutomationType = TypeReminder
	c.Setting, c.TriggerKey = cmp.Or(c.Setting, c.Type), cmp.Or(c.TriggerKey, defaultTriggerKey)
	if t.Urgent && c.Lane == storage.LaneNormal {
		c.Lane = storage.LaneUrgent
	}
	return s.planSeries(ctx, c, t, Recurring)
}

// planSeries is the series of a checked candidate.
func (s planner) planSeries(ctx context.Context, c Candidate, t ReminderType, trigger TriggerType) (plan, string, error) {
	row := c.row("", trigger, keys.Input{})
	want := series{
		Record: storage.Record{Scope: c.Scope, Kind: c.Type}, Lane: c.Lane,
		AutomationType: row.AutomationType, Setting: row.Setting, SourceType: row.SourceType, Source: row.Source,
		TriggerKey: row.TriggerKey, BusinessUnit: row.BusinessUnit, Person: row.Person, InputHash: row.InputHash,
	}
	line, field, err := s.timeline(ctx, &want, c, t)
	if err != nil {
		return plan{}, field, err
	}
	now := s.now()
	if _, err := want.key(now.Truncate(1e9)); err != nil { // every part of it is checked there
		return plan{}, "", err
	}
	want.Key = seriesKey(want.AutomationType, want.Setting, c.Source, want.TriggerKey)
	p := plan{want: row, series: &seriesPlan{want, line}}
	if first, ok := line.After(now); ok {
		p.want.ScheduledOn = first.On
		p.want.Key, err = want.key(first.On)
	}
	return p, "Recurrence", err
}

func (c Candidate) checkRecurring() (field string, err error) {
	switch {
	case c.isInstant():
		return "At", errInstant
	case c.Threshold != nil:
		return "Threshold", errors.New("goes with no Recurrence: a reminder has one of them")
	case !c.ScheduledOn.IsZero():
		return "ScheduledOn", errors.New("does not go with a Recurrence or a Run")
	case !c.TargetDate.IsZero() || c.DaysBefore != 0:
		return "TargetDate", errors.New("goes with no Recurrence: a reminder has one of them")
	case c.Recurrence.Cron != "" && c.SendAt != "":
		return "SendAt", errors.New("goes with no Cron, which says itself when")
	}
	return "", nil
}

// timeline checks the cadence and puts it into want, in its canonical spelling.
func (s planner) timeline(ctx context.Context, want *series, c Candidate, t ReminderType) (recur.Timeline, string, error) {
	spec := recur.Spec{Cron: c.Recurrence.Cron, RRule: c.Recurrence.RRule, Start: c.Recurrence.Start, End: c.Recurrence.End, Except: c.Recurrence.Except}
	if spec.RRule != "" {
		sendAt := c.SendAt
		if sendAt == "" && recur.NamesTime(spec.RRule) {
			sendAt = "00:00"
		}
		var err error
		if spec.At, err = timeOfDay(cmp.Or(sendAt, t.SendAt)); err != nil {
			return recur.Timeline{}, "SendAt", err
		}
		want.StartTime = spec.At.String()
	}
	cadence, err := recur.Parse(spec)
	if err != nil {
		return recur.Timeline{}, "Recurrence", err
	}
	zone, loc, err := s.zone(ctx, c, t)
	if err != nil {
		return recur.Timeline{}, "Zone", err
	}
	policy := civil.Policy{Gap: cmp.Or(c.Gap, t.Gap, dst.GapForward), Overlap: cmp.Or(c.Overlap, t.Overlap, dst.OverlapFirst)}
	if err := policy.Validate(); err != nil {
		return recur.Timeline{}, "Gap, Overlap", err
	}
	spec = cadence.Spec()
	want.Cron, want.RRule = spec.Cron, spec.RRule
	want.StartDate, want.EndDate, want.ExceptDates = dateText(spec.Start), dateText(spec.End), datesText(spec.Except)
	want.TimeZone, want.GapPolicy, want.OverlapPolicy = zone, policy.Gap, policy.Overlap
	return recur.Timeline{Cadence: cadence, Zone: loc, Policy: policy}, "", nil
}

func dateText(d Date) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}

func datesText(all []Date) string {
	texts := make([]string, len(all))
	for i, d := range all {
		texts[i] = d.String()
	}
	return strings.Join(texts, ",")
}

func datesOf(text string) ([]Date, error) {
	var out []Date
	for one := range strings.SplitSeq(text, ",") {
		d, err := civil.ParseDate(one)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

// asksFor reports whether the plan asks for a row, and for what it stands for. An
// occurrence is asked for with its series, whatever the cadence says by now.
func (p plan) asksFor(row *scheduleRow) bool {
	if p.series != nil {
		return p.series.want.Key == row.baseSeriesKey() && p.want.InputHash == row.InputHash
	}
	return p.want.Key == row.baseKey() && p.want.InputHash == row.InputHash
}

// series are the keys of those that an event asks for, and whose setting is on.
func (p eventPlan) series() map[string]bool {
	out := map[string]bool{}
	for _, plan := range p.plans {
		if plan.series != nil && !p.off[plan.want.Setting] {
			out[plan.series.want.Key] = true
		}
	}
	return out
}

// SeriesState is what is known about the series of an occurrence.
type SeriesState struct {
	// Active series have a next occurrence and go on.
	Active bool
	// Cadence is the rule in words for people, as "cron 0 9 * * 1".
	Cadence string
	Zone    string
	// Next is the current occurrence, whose row exists; zero: it has ended.
	Next time.Time
}

// seriesState reads the series behind a key of an occurrence, nil for others.
func seriesState(ctx context.Context, from driver.Reader, scope Scope, key string) (*SeriesState, error) {
	of, _, ok := seriesOf(key)
	if !ok {
		return nil, nil
	}
	d, err := seriesTable.Get(ctx, from, scope, of)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &SeriesState{Active: d.Active, Cadence: d.cadence(), Zone: d.TimeZone, Next: d.NextOn}, nil
}

// series tells about the series behind the row.
func (e Explanation) series(b *strings.Builder) {
	switch d := e.Series; {
	case d == nil:
	case d.Active:
		fmt.Fprintf(b, "  recurs: %s, %s; next %s\n", d.Cadence, d.Zone, stampText(d.Next))
	default:
		fmt.Fprintf(b, "  no longer recurs: %s, %s\n", d.Cadence, d.Zone)
	}
}
