package keys

import (
	"strconv"
	"strings"
	"time"
)

// MaxOffsetDays is the limit of [Reminder.OffsetDays] in both directions: a hundred
// years.
const MaxOffsetDays = 36525

// Reminder is the identity of one date-based reminder
// (Automation & Reminders, "SchedulerKey - idempotency key"):
//
//	reminder:{setting}:{sourceType}:{source}:{triggerKey}:{targetDate}:{offsetDays}
//
// A changed target date or offset makes another occasion, so both are part of it. The
// time of sending is not.
type Reminder struct {
	Setting    string // the reminder setting, usually its GUID
	SourceType string // the kind of entity, such as "employee"
	Source     string // its id
	TriggerKey string // tells several triggers of one setting apart
	TargetDate string // civil date, 2006-01-02, on which the event itself falls
	OffsetDays int    // days before TargetDate; negative: days after it
}

// Key builds the key. The error is a [*PartError].
func (k Reminder) Key() (string, error) {
	b := newBuilder("reminder", "reminder")
	b.origin(k.Setting, k.SourceType, k.Source, k.TriggerKey)
	b.date("targetDate", k.TargetDate)
	b.days("offsetDays", k.OffsetDays)
	return b.key()
}

func (Reminder) parsed() {}

// parseReminder reads the four formats that begin with "reminder". The sixth component
// distinguishes them: a date, "threshold", "recurring" or "instant".
func parseReminder(key string) (Parsed, error) {
	c, err := components("reminder", key, 7)
	if err != nil {
		return nil, err
	}
	switch c[5] {
	case "threshold":
		return parseThreshold(c)
	case "recurring":
		return parseRecurring(c)
	case "instant":
		return parseInstantKey(c)
	}
	days, err := strconv.Atoi(c[6])
	if err != nil || strconv.Itoa(days) != c[6] {
		return nil, &PartError{Kind: "reminder", Part: "offsetDays", Value: excerpt(c[6]),
			Problem: "is not a whole number as Go writes it"}
	}
	return Reminder{Setting: c[1], SourceType: c[2], Source: c[3], TriggerKey: c[4], TargetDate: c[5], OffsetDays: days}, nil
}

// Recurring is the identity of one occurrence of a recurring reminder, a
// format of Belfry's own, since the documents have none:
//
//	reminder:{setting}:{sourceType}:{source}:{triggerKey}:recurring:{occurrence}
type Recurring struct {
	Setting    string    // the reminder setting, usually its GUID
	SourceType string    // the kind of entity, such as "class"
	Source     string    // its id
	TriggerKey string    // tells several triggers of one setting apart
	Occurrence time.Time // set, in whole seconds; any zone, written in UTC
}

// Key builds the key. The error is a [*PartError].
func (k Recurring) Key() (string, error) {
	b := newBuilder("recurring", "reminder")
	b.origin(k.Setting, k.SourceType, k.Source, k.TriggerKey)
	b.literal("recurring")
	b.instant("occurrence", k.Occurrence)
	return b.key()
}

func (Recurring) parsed() {}

// parseRecurring takes the seven components that parseReminder found.
func parseRecurring(c []string) (Parsed, error) {
	occurrence, err := parseInstant("recurring", "occurrence", c[6])
	if err != nil {
		return nil, err
	}
	return Recurring{Setting: c[1], SourceType: c[2], Source: c[3], TriggerKey: c[4], Occurrence: occurrence}, nil
}

// Instant is the identity of one reminder before an instant, such as the start of
// a lesson, a format of Belfry's own, since the documents have none:
//
//	reminder:{setting}:{sourceType}:{source}:{triggerKey}:instant:{startUtc}:{before}
//
// An instant that moves makes another occasion. Before is written in hours, minutes
// and seconds, without those that are zero: 2h, 1h30m, 45s, -15m, and 0s.
type Instant struct {
	Setting    string        // the reminder setting, usually its GUID
	SourceType string        // the kind of entity, such as "lesson"
	Source     string        // its id
	TriggerKey string        // tells several triggers of one setting apart
	Start      time.Time     // set, in whole seconds; any zone, written in UTC
	Before     time.Duration // in whole seconds, at most MaxOffsetDays; negative: after Start
}

// Key builds the key. The error is a [*PartError].
func (k Instant) Key() (string, error) {
	b := newBuilder("instant", "reminder")
	b.origin(k.Setting, k.SourceType, k.Source, k.TriggerKey)
	b.literal("instant")
	b.instant("startUtc", k.Start)
	b.span("before", k.Before)
	return b.key()
}

func (Instant) parsed() {}

// parseInstantKey takes the seven components that parseReminder found.
func parseInstantKey(c []string) (Parsed, error) {
	start, before := c[6], ""
	if i := strings.LastIndexByte(c[6], ':'); i >= 0 {
		start, before = c[6][:i], c[6][i+1:]
	}
	on, err := parseInstant("instant", "startUtc", start)
	if err != nil {
		return nil, err
	}
	d, err := time.ParseDuration(before)
	if err != nil || formatSpan(d) != before {
		return nil, &PartError{Kind: "instant", Part: "before", Value: excerpt(before),
			Problem: "must be a duration as keys write it, such as 1h30m"}
	}
	return Instant{Setting: c[1], SourceType: c[2], Source: c[3], TriggerKey: c[4], Start: on, Before: d}, nil
}

// ReportRun is the identity of one scheduled run of a report (Report
// Subscription):
//
//	report-subscription:{subscription}:scheduled:{periodStartUtc or scheduledOn}
//
// The subscription decides which of the two it is, and that never changes: the start of
// the period if the report's cadence has periods, so that a changed time of sending does
// not make a second run; otherwise the scheduled time.
type ReportRun struct {
	Subscription string    // the report subscription, usually its GUID
	On           time.Time // set, in whole seconds; any zone, written in UTC
}

// Key builds the key. The error is a [*PartError].
func (k ReportRun) Key() (string, error) {
	b := newBuilder("report run", "report-subscription")
	b.part("subscription", k.Subscription)
	b.literal("scheduled")
	b.instant("scheduled", k.On)
	return b.key()
}

func (ReportRun) parsed() {}

// parseReport reads the two formats that begin with "report-subscription".
func parseReport(key string) (Parsed, error) {
	c, err := components("report run", key, 4)
	if err != nil {
		return nil, err
	}
	switch c[2] {
	case "scheduled":
		on, err := parseInstant("report run", "scheduled", c[3])
		if err != nil {
			return nil, err
		}
		return ReportRun{Subscription: c[1], On: on}, nil
	case "manual":
		return ManualReportRun{Subscription: c[1], Run: c[3]}, nil
	}
	return nil, &PartError{Kind: "report run", Problem: "is neither scheduled nor manual"}
}

// ManualReportRun is the identity of one run of a report that a person asked
// for (Report Subscription):
//
//	report-subscription:{subscription}:manual:{run}
//
// Run is the only random id in any key. It is made before the first insert,
// returned to the caller, and used again by every retry.
type ManualReportRun struct {
	Subscription string // the report subscription, usually its GUID
	Run          string // the run's id, usually a GUID
}

// Key builds the key. The error is a [*PartError].
func (k ManualReportRun) Key() (string, error) {
	b := newBuilder("manual report run", "report-subscription")
	b.part("subscription", k.Subscription)
	b.literal("manual")
	b.part("run", k.Run)
	return b.key()
}

func (ManualReportRun) parsed() {}

// Host is the identity of due work of a host's own type, a format of Belfry's own:
//
//	host:{type}:{sourceType}:{source}:{triggerKey}
type Host struct {
	Type       string // the automation type as the host registered it
	SourceType string // the kind of entity
	Source     string // its id
	TriggerKey string // tells several occasions of one source apart
}

// Key builds the key. The error is a [*PartError].
func (k Host) Key() (string, error) {
	b := newBuilder("host", "host")
	b.part("type", k.Type)
	b.part("sourceType", k.SourceType)
	b.part("source", k.Source)
	b.part("triggerKey", k.TriggerKey)
	return b.key()
}

func (Host) parsed() {}

// parseHost reads the three formats that begin with "host".
func parseHost(key string) (Parsed, error) {
	c := strings.SplitN(key, ":", 7)
	if len(c) == 7 && c[5] == "recurring" {
		on, err := parseInstant("host run", "occurrence", c[6])
		if err != nil {
			return nil, err
		}
		return HostRun{Type: c[1], SourceType: c[2], Source: c[3], TriggerKey: c[4], On: on}, nil
	}
	if len(c) == 7 && c[5] == "manual" {
		return HostRun{Type: c[1], SourceType: c[2], Source: c[3], TriggerKey: c[4], Run: c[6]}, nil
	}
	c, err := components("host", key, 5)
	if err != nil {
		return nil, err
	}
	return Host{Type: c[1], SourceType: c[2], Source: c[3], TriggerKey: c[4]}, nil
}

// HostRun is the identity of one run of work of a host's type: an occurrence of a series, or
// a run that a person asked for. The formats are Belfry's own:
//
//	host:{type}:{sourceType}:{source}:{triggerKey}:recurring:{occurrence}
//	host:{type}:{sourceType}:{source}:{triggerKey}:manual:{run}
type HostRun struct {
	Type       string    // the automation type as the host registered it
	SourceType string    // the kind of entity
	Source     string    // its id
	TriggerKey string    // tells several series of one source apart
	On         time.Time // of an occurrence: in whole seconds; any zone, written in UTC
	Run        string    // of a run that was asked for: its id; On is zero then
}

// Key builds the key. The error is a [*PartError].
func (k HostRun) Key() (string, error) {
	b := newBuilder("host run", "host")
	b.part("type", k.Type)
	b.part("sourceType", k.SourceType)
	b.part("source", k.Source)
	b.part("triggerKey", k.TriggerKey)
	switch {
	case k.Run == "":
		b.literal("recurring")
		b.instant("occurrence", k.On)
	case !k.On.IsZero():
		b.refuse("run", "", "is not for an occurrence")
	default:
		b.literal("manual")
		b.part("run", k.Run)
	}
	return b.key()
}

func (HostRun) parsed() {}
