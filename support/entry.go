package support

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/survey"
)

// Kind is the sort of row that an [Entry] is about.
type Kind string

// The kinds.
const (
	KindReminder Kind = "Reminder" // due work of package automation
	KindJob      Kind = "Job"      // one request to notify people
	KindSchedule Kind = "Schedule" // when a job or a campaign is looked at
	KindCampaign Kind = "Campaign" // messages to many
	KindMessage  Kind = "Message"  // to one recipient by one channel
	KindInbox    Kind = "Inbox"    // a message in an inbox of the host's
	KindLink     Kind = "Link"     // of a survey
	KindResponse Kind = "Response" // an unhappy response to a survey
	KindDead     Kind = "DeadLetter"
	KindReport   Kind = "Report"  // a subscription of a report
	KindPerson   Kind = "Person"  // the target of [Erase], [Stop] and [Allow]
	KindAddress  Kind = "Address" // "email:sam@example.com", which [Unblock] is about
	KindConflict Kind = "Conflict"
	KindPause    Kind = "Pause"
	KindOutage   Kind = "Outage"
	KindReplan   Kind = "Replan"
	KindErasure  Kind = "Erasure"
	KindAudit    Kind = "Audit" // what was done, by a person or a program
)

// Outcome is the result so far, as a support desk asks for it.
type Outcome string

// The outcomes.
const (
	Planned  Outcome = "Planned"  // its time is in the future
	UnderWay Outcome = "UnderWay" // it is being worked on, or waits for its next try
	Sent     Outcome = "Sent"     // a provider has it; no word yet that it arrived
	Reached  Outcome = "Reached"  // it arrived, was opened, read or answered
	Withheld Outcome = "Withheld" // it was not or will not be sent, because of a rule or a person's decision
	Failed   Outcome = "Failed"   // it was tried, and failed for good
	NeedsYou Outcome = "NeedsYou" // it waits for a person: a hold, or an unknown outcome
)

// Entry is one item of a timeline: past, planned or withheld. What, ToDo and the codes
// contain no personal data. Fields that may are marked "personal".
type Entry struct {
	// On is its time: when a reminder is due, when a message was made.
	On      time.Time
	Kind    Kind
	Outcome Outcome
	// Type is the reminder type, the type of notification or "survey 7"; Occasion which
	// one of them: "7 days before 2026-04-24".
	Type, Occasion string
	Channel        string // of a message or a link
	Status         string // of the row, as its domain has it
	// Reason is the code of its state. ReasonBy is who gave it: "belfry" (package reasons
	// explains it), "provider", "program", or "either" of the last two; empty without a reason.
	Reason, ReasonBy string
	// What describes the outcome in a sentence. ToDo says what to do; empty: nothing.
	What, ToDo string
	// NextOn is the time of the next automatic step; zero: there is none.
	NextOn time.Time
	// Can lists the possible actions.
	Can []Action
	// Part is the target of those actions if the entry is not a row.
	Part Part
	// Version is that of the templates that made a message.
	Version string

	Key        string            // personal: what [Target] and [About] take
	MessageID  string            // of a message
	ProviderID string            // the provider's, of a message
	Person     string            // personal: a host's id
	Entity     automation.Source // personal: what a reminder is about
	Address    string            // personal
	Name       string            // personal
	Subject    string            // personal: of a message
	Text, HTML string            // personal: the texts; only for a single message
	Detail     string            // personal: the last error, or what a person wrote
	Ticket     string            // personal: where an unhappy response is in the host's own system
	Said       string            // personal: the host's own reason for the end of a reminder
	Letter     *Letter           // personal: its other parts; only for a single message
	// Parts are the messages and inbox entries that belong to it, of one that [Occasions] made.
	Parts []Entry
	// Messages are the messages of a reminder, at most MaxMessages. More says that there are
	// others.
	Messages []MessageState
	More     bool
	// Steps are what happened to it, in the order of time.
	Steps []Step
	// Campaign is its progress; only for a single campaign.
	Campaign *notify.CampaignProgress

	made     time.Time            // when it was made, of a dead letter
	schedule *automation.Schedule // of a reminder
	link     *survey.Instance     // of a link
	// withdrawn is when a reminder ended before it was due; zero: it was not withdrawn.
	withdrawn time.Time
	twin      bool   // another list has it too
	job       string // whose message it is: the row key, and jobOf the partition key
	jobOf     string
	bounced   bool // its provider reported a bounce
	// stage is the stage of the message, or of the message that decides a reminder's
	// outcome.
	stage notify.Stage
}

// Letter holds the parts of a message besides subject and texts.
type Letter struct {
	Locale string
	Mail   channel.Mail
	Files  []notify.AttachmentRef
}

// MaxMessages is the limit of messages listed for one reminder.
const MaxMessages = 20

// MessageState is the state of one message of a reminder.
type MessageState struct {
	MessageID string
	Channel   string
	Outcome   Outcome
	Status    string
	Reason    string
	On        time.Time // since when it is in this state
	Person    string    // personal: to whom
	by        string    // the ReasonBy of the Reason
	stage     notify.Stage
}

// State is its state; see [Entry.State].
func (m MessageState) State() State { return State(m.stage) }

// Step is one event in the history of a row.
type Step struct {
	On     time.Time
	What   string // without personal data
	Reason string // a code
	Actor  string // personal: the person or program that did it; empty for Belfry's own steps
	Detail string // personal: why, in the words of a person
	person bool   // a person gave the Detail
}

// Title is its type and occasion.
func (e Entry) Title() string {
	if e.Occasion == "" {
		return e.Type
	}
	return e.Type + ", " + e.Occasion
}

// Redact is the entry for a reader: each key goes through key, and without the right to see
// personal data what else is personal is left out. It leaves e as it is.
func (e Entry) Redact(key func(string) string, personal bool) Entry {
	e.Key, e.Person, e.Entity.ID = key(e.Key), key(e.Person), key(e.Entity.ID)
	e.Messages, e.Steps, e.Parts = slices.Clone(e.Messages), slices.Clone(e.Steps), slices.Clone(e.Parts)
	for i := range e.Messages {
		e.Messages[i].Person = key(e.Messages[i].Person)
	}
	for i := range e.Parts {
		e.Parts[i] = e.Parts[i].Redact(key, personal)
	}
	if personal {
		return e
	}
	e.Address, e.Name, e.Subject, e.Text, e.HTML, e.Detail, e.Ticket, e.Said, e.Letter = "", "", "", "", "", "", "", "", nil
	for i := range e.Steps {
		e.Steps[i].Actor, e.Steps[i].Detail = "", ""
	}
	return e
}

// settle fills the fields that follow from the outcome and its reason.
func (e *Entry) settle() {
	if e.ToDo = ""; e.Reason == "" {
		e.ReasonBy = ""
	} else {
		e.ReasonBy = cmp.Or(e.ReasonBy, giver(e.Reason))
		e.ToDo = Meaning(e.ReasonBy, e.Reason)
	}
	e.What = e.Title() + ": " + e.verb()
	if e.Outcome == NeedsYou && slices.Contains(e.Can, Resolve) {
		e.ToDo = "Ask the provider or the recipient, then say whether it arrived or is sent again."
	}
}

// sentText describes a message that its provider has accepted.
const sentText = "sent; no word yet that it arrived"

// verb is the outcome in words.
func (e *Entry) verb() string {
	because := ""
	if e.Reason != "" {
		because = ", " + why(e.ReasonBy, e.Reason)
	}
	switch e.Outcome {
	case Planned:
		return "comes on " + moment(e.On) + because
	case UnderWay:
		if !e.NextOn.IsZero() {
			return "under way, goes on at " + moment(e.NextOn) + because
		}
		return "under way" + because
	case Sent:
		return sentText
	case Reached:
		return "arrived"
	case Withheld:
		return "not sent" + because
	case Failed:
		return "failed" + because
	}
	return "waits for a person" + because
}

// moment prints a time for people.
func moment(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }

// occasion is which of its type a reminder is.
func occasion(s *automation.Schedule) string {
	text := ""
	switch s.TriggerType {
	case automation.DateBased:
		text = offset(s.DaysBefore) + " " + s.TargetDate
	case automation.InstantBased:
		text = span(s.Before) + " " + moment(s.At)
	case automation.Recurring, automation.ScheduledRun, automation.ManualRun:
		text = moment(s.ScheduledOn)
	case automation.ThresholdCondition:
		text = "when a measurement reached its threshold"
	}
	return text
}

func offset(days int) string {
	switch {
	case days == 0:
		return "on"
	case days == 1:
		return "1 day before"
	case days == -1:
		return "1 day after"
	case days < 0:
		return fmt.Sprintf("%d days after", -days)
	}
	return fmt.Sprintf("%d days before", days)
}

func span(d time.Duration) string {
	switch {
	case d < 0:
		return brief(-d) + " after"
	case d == 0:
		return "at"
	}
	return brief(d) + " before"
}

// brief writes a duration in its largest whole unit: "2 hours".
func brief(d time.Duration) string {
	for _, unit := range []struct {
		name string
		is   time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}} {
		switch n := d / unit.is; {
		case d%unit.is != 0 || n == 0:
		case n == 1:
			return "1 " + unit.name
		default:
			return fmt.Sprintf("%d %ss", n, unit.name)
		}
	}
	return d.String()
}
