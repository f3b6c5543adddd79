package keys

import "strconv"

// MaxOffsetDays bounds [Reminder.OffsetDays] on both sides: a hundred years,
// beyond which a number is taken for a mistake.
const MaxOffsetDays = 36525

// Reminder is the identity of one date-based reminder
// (Automation & Reminders, "SchedulerKey - idempotency key"):
//
//	reminder:{setting}:{sourceType}:{source}:{triggerKey}:{targetDate}:{offsetDays}
//
// A target date or an offset that changes makes another occasion, so both are
// part of it; the time of sending is not.
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

// parseReminder reads the three formats that begin with "reminder". The sixth
// component tells them apart: no date reads "threshold" or "recurring".
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
	}
	days, err := strconv.Atoi(c[6])
	if err != nil || strconv.Itoa(days) != c[6] {
		return nil, &PartError{Kind: "reminder", Part: "offsetDays", Value: excerpt(c[6]),
			Problem: "is not a whole number as Go writes it"}
	}
	return Reminder{Setting: c[1], SourceType: c[2], Source: c[3], TriggerKey: c[4], TargetDate: c[5], OffsetDays: days}, nil
}
