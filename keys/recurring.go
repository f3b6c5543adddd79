package keys

import "time"

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
