package automation

import (
	"time"
)

// Candidate says what the host wants to happen and when. From it follow the key
// of the row and its InputHash, so the same wish always finds the same row.
//
// A reminder has a TargetDate and falls DaysBefore days before it, at SendAt in
// Zone; or it has a Threshold, and is due when that is met; or a Recurrence, and its
// next occurrence is a row. Work of a type that the host added (AutomationType set)
// has a ScheduledOn instead.
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
	// Setting is the id of the reminder setting; default Type.
	Setting string
	// TriggerKey tells several occasions of one source and setting apart; default
	// "default".
	TriggerKey string
	// Source is the entity that the work is about.
	Source Source
	// BusinessUnit is the part of the tenant that the work belongs to; it may be
	// empty.
	BusinessUnit string

	// TargetDate is the civil date of the event itself, DaysBefore how many days
	// earlier the reminder falls; negative: later.
	TargetDate Date
	DaysBefore int
	// Recurrence makes it happen again and again, instead of before a TargetDate.
	Recurrence *Recurrence
	// SendAt is the local time of day, "09:00" or "09:00:30"; default the type's.
	SendAt string
	// Zone is the IANA zone of SendAt; default the business unit's by
	// [Options].Zone, else the type's.
	Zone string
	// Gap and Overlap say what becomes of a local time that does not exist or
	// exists twice; default the type's, else GapForward and OverlapFirst.
	Gap     GapPolicy
	Overlap OverlapPolicy

	// Threshold makes it a ThresholdCondition; TargetDate, DaysBefore, SendAt and
	// ScheduledOn are empty then, and Zone is that of the days of OncePerDay.
	Threshold *Threshold

	// ScheduledOn is the moment of a host's type; it is required there and may
	// change under the same key.
	ScheduledOn time.Time

	// Run is the id of a run of a report that a person asked for, which is due at
	// once; the first moment stands. Scheduled runs have a Recurrence instead.
	Run string

	// Lane is storage.LaneNormal unless set; rows of an Urgent type are in
	// storage.LaneUrgent. It is fixed once the row exists.
	Lane int16
	// Identity holds what else the work stands for. An entry that changes under
	// the same key is a conflict, never an update.
	Identity map[string]string
}
