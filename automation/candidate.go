package automation

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-go/belfry/automation/dst"
	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// Scope is the tenant that a row belongs to; see [storage.Scope].
type Scope = storage.Scope

// Date is a civil date, without time of day or zone. The zero Date is none.
type Date = civil.Date

// ParseDate reads a date written as 2006-01-02. The error says whether the form
// is wrong or the date does not exist.
func ParseDate(s string) (Date, error) { return civil.ParseDate(s) }

// DateOf is the date that t shows in its own location, t.Location(): what a date
// column of a database gives. An instant outside the years 1 to 9999, the zero Time in
// some zones, gives a Date that a Candidate refuses.
func DateOf(t time.Time) Date { return civil.DateOf(t, t.Location()) }

// By says who takes a support action and why: Actor, a person or program that can be
// found again, in at most 200 bytes, and Reason, in at most 1000. Both are required.
type By = audit.By

// ActionOptions change how a support action works: DryRun has it answer the same and
// write nothing. Nil is the zero value.
type ActionOptions = audit.Options

// Source is the entity that due work is about: its kind and its id in the
// host's own words, such as "employee" and "4711". Neither may be empty or hold
// a colon or a control character.
type Source struct {
	Type, ID string
}

// TypeReminder is the automation type of what [Scheduler.Register] serves.
// Types that hosts add with [Scheduler.Handle] have names of their own.
const TypeReminder = "Reminder"

// TypeReportSubscription is the automation type of runs of reports, which package
// automation/report serves (Report Subscription). It is their Setting and the
// type of their Source as well, whose ID is the subscription's.
const TypeReportSubscription = "ReportSubscription"

// TriggerType says what makes a row due (Automation & Reminders,
// "AutomationScheduler").
type TriggerType string

// The trigger types.
const (
	DateBased TriggerType = "DateBased" // so many days before a date, at a time of day in a zone
	// InstantBased rows are so long before an instant; see [Candidate].At.
	InstantBased TriggerType = "InstantBased"
	// ThresholdCondition rows are due at once, since a reading met a [threshold.Threshold].
	ThresholdCondition TriggerType = "ThresholdCondition"
	Recurring          TriggerType = "Recurring" // an occurrence of a series; see Recurrence
	// ScheduledRun rows are at an instant: those of types that hosts add, and the
	// occurrences of a report's series.
	ScheduledRun TriggerType = "ScheduledRun"
	ManualRun    TriggerType = "ManualRun" // a run of a report, or of a host's work, that a person asked for
)

// Candidate says what the host wants to happen and when. From it follow the key
// of the row and its InputHash, so the same wish always finds the same row.
//
// A reminder has a TargetDate and falls DaysBefore days before it, at SendAt in
// Zone; or At, and falls so long Before it; or it has a Threshold, and is due when
// that is met; or a Recurrence, and its next occurrence is a row. Work of a type that the
// host added (AutomationType set) has a ScheduledOn, a Recurrence or a Run.
type Candidate struct {
	// Scope is the tenant; empty in a host that has one.
	Scope Scope
	// AutomationType is a type that the host added with [Scheduler.Handle], or
	// TypeReportSubscription, whose candidates package automation/report makes.
	// Empty means TypeReminder.
	AutomationType string
	// Type is the Name of the [ReminderType] that serves the row. It need not be
	// registered in this process. For a host's type it is empty.
	Type string
	// Setting is the id of the reminder setting; default Type. SettingVersion is the
	// Version of the [Setting] that it was made from: if there is a newer one by the
	// time that an event or a reconciliation writes, its provider is asked again. Zero:
	// not known. It is in no key and no hash.
	Setting        string
	SettingVersion int64
	// TriggerKey tells several occasions of one source and setting apart; default
	// "default".
	TriggerKey string
	// Source is the entity that the work is about.
	Source Source
	// BusinessUnit is the part of the tenant that the work belongs to; it may be
	// empty. An open row moves with it; what was sent keeps the one it had.
	BusinessUnit string
	// Person is whom the work is about, an id of the host's; empty: none, or it is
	// unknown. It stands in no key and no InputHash, and moves with an open row as
	// BusinessUnit does. See [Support.Planned] and [Selection].
	Person string

	// TargetDate is the civil date of the event itself, DaysBefore how many days
	// earlier the reminder falls; negative: later.
	TargetDate Date
	DaysBefore int
	// At is the instant of the event itself, such as the start of a lesson, of which a
	// fraction of a second is dropped, and Before how long earlier the reminder falls, in
	// whole seconds; negative: later. They stand instead of TargetDate, DaysBefore and SendAt. Hours are real ones, which
	// no change of clocks shortens; Zone is for texts, and UTC where none is given.
	// An At that moves is another occasion, and [Reminders.Set] or an event ends the old one.
	At     time.Time
	Before time.Duration
	// Recurrence makes it happen again and again, instead of before a TargetDate.
	Recurrence *Recurrence
	// SendAt is the local time of day, "09:00" or "09:00:30"; default the type's.
	SendAt string
	// Zone is the IANA zone of SendAt; default the business unit's by
	// [Options].Zone, else the type's.
	Zone string
	// Gap and Overlap say what becomes of a local time that does not exist or
	// exists twice; default the type's, else GapForward and OverlapFirst.
	Gap     dst.GapPolicy
	Overlap dst.OverlapPolicy

	// Threshold makes it a ThresholdCondition; TargetDate, DaysBefore, SendAt and
	// ScheduledOn are empty then, and Zone is that of the days of OncePerDay.
	Threshold *threshold.Threshold

	// ScheduledOn is the moment of a host's type; it may change under the same key.
	ScheduledOn time.Time

	// Run is the id of a run of a report, or of a host's type, that a person asked for,
	// which is due at once; the first moment stands. Scheduled runs have a Recurrence instead.
	Run string

	// Lane is storage.LaneNormal unless set; rows of an Urgent type are in
	// storage.LaneUrgent. It is fixed once the row exists.
	Lane int16
	// Identity holds what else the work stands for. An entry that changes under
	// the same key is a conflict, never an update.
	Identity map[string]string
}

// CandidateError says which candidate of a call was refused, where and why.
// Nothing of the call was written.
type CandidateError struct {
	Index int    // of the candidate in the call, from 0
	Type  string // its Type or AutomationType
	Field string // the field at fault; empty if Err names it
	Err   error
}

func (e *CandidateError) Error() string {
	where := ""
	if e.Field != "" {
		where = ": " + e.Field
	}
	return fmt.Sprintf("automation: candidate %d (%.40q)%s: %v", e.Index, e.Type, where, e.Err)
}

// Unwrap returns the cause, a *keys.PartError where the key was refused.
func (e *CandidateError) Unwrap() error { return e.Err }

// Recurrence says when a [Candidate] happens again and again: by a cron
// expression or by an RRULE, one of them, on the clocks of the candidate's zone.
//
// Only the next occurrence exists as a row. The one behind it is made in the
// transaction in which the row first ends or is put on hold, whatever became of
// it, so a failure never ends a series. The cadence is not a part of the
// InputHash: it may change under the same series, whose row then ends as
// Superseded unless the new cadence comes to the same instant.
//
// An occurrence is a local time, and its key the instant that it comes to. Local
// times that come to one instant are one occurrence; in an hour that clocks show
// twice each local time happens once, so that an hourly cadence pauses for the
// other pass. The type's CatchUp and BusinessDay are for dates and play no part.
type Recurrence struct {
	// Cron has five fields: minute, hour, day of month, month, day of week (0 and
	// 7 are Sunday), each a star, or a list of numbers, names, ranges and steps; L
	// is the last day of a month, 15W the weekday nearest to the 15th, 5L the last
	// Friday, MON#1 the first Monday. If both days are given, either is enough,
	// unless one of them begins with a star. @yearly, @annually, @monthly,
	// @weekly, @daily and @hourly stand for what they say.
	Cron string
	// RRule is the value of an RRULE (RFC 5545) without DTSTART and TZID, at most
	// every minute, with a COUNT of at most 10000 and a hundred years. UNTIL is local, a date
	// without a time is that whole day, and one in UTC (with a Z, as calendars write it) is an
	// instant. Days come from Start where it names none, the time from the candidate's SendAt.
	RRule string

	// Start is the first local day on which it may happen, and with RRule the day
	// that intervals and COUNT are counted from; it is required there. It is 1900 or later.
	Start Date
	// End is the last local day; zero: none.
	End Date
	// Except are local days on which it does not happen, such as holidays, at most 366.
	Except []Date
}

// defaultThresholdScope stands for the source as a whole.
const defaultThresholdScope = "source"

// comparisons has what is true of the sign of reading minus value, and how
// people say it.
var comparisons = map[threshold.Comparison]struct {
	holds func(sign int) bool
	words string
}{
	threshold.AtLeast:  {func(sign int) bool { return sign >= 0 }, "at least"},
	threshold.MoreThan: {func(sign int) bool { return sign > 0 }, "more than"},
	threshold.AtMost:   {func(sign int) bool { return sign <= 0 }, "at most"},
	threshold.LessThan: {func(sign int) bool { return sign < 0 }, "less than"},
}

func checkComparison(c threshold.Comparison) error {
	if _, ok := comparisons[c]; !ok {
		return fmt.Errorf("%.40q is not one of AtLeast, MoreThan, AtMost, LessThan", c)
	}
	return nil
}

// met compares two numbers in the spelling of keys.Decimal.
func meets(c threshold.Comparison, reading, value string) bool {
	return comparisons[c].holds(rational(reading).Cmp(rational(value)))
}

func rational(decimal string) *big.Rat {
	r, ok := new(big.Rat).SetString(decimal)
	if !ok {
		panic("automation: " + decimal + " is not what keys.Decimal gives")
	}
	return r
}

// rerunMark stands in a TriggerKey between the host's own and the number of the
// run that support asked for. No candidate may hold it.
const rerunMark = "~"

// baseTriggerKey is the host's own part of a trigger key, and the number of the
// rerun: 0 for the row that the host asked for.
func baseTriggerKey(triggerKey string) (string, int) {
	base, number, found := strings.Cut(triggerKey, rerunMark)
	if !found {
		return triggerKey, 0
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		return triggerKey, 0
	}
	return base, n
}

// baseKey is the key of the row that the host asked for, which a rerun repeats.
func (r *scheduleRow) baseKey() string { return baseKey(r.Key, r.TriggerKey) }

func baseKey(key, triggerKey string) string {
	base, n := baseTriggerKey(triggerKey)
	if n == 0 {
		return key
	}
	first, err := keyWith(key, triggerKey, base)
	if err != nil {
		return key
	}
	return first
}

// keyWith is a key with another trigger key, which is the fifth component of every
// key that has one.
func keyWith(key, was, is string) (string, error) {
	const place = 4
	parts := strings.SplitN(key, ":", place+2)
	if len(parts) <= place || parts[place] != was {
		return "", errors.New("its key has no trigger key")
	}
	parts[place] = is
	key = strings.Join(parts, ":")
	_, err := keys.Parse(key)
	return key, err
}
