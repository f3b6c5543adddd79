package keys

import "time"

const (
	instantLayout   = "2006-01-02T15:04:05Z"
	outsideCalendar = "is outside the years 1 to 9999"
)

func formatInstant(t time.Time) string { return t.UTC().Format(instantLayout) }

// instantProblem says why t cannot stand in a key, or "" if it can. The zero
// time is refused, since it is a field that nobody set.
func instantProblem(t time.Time) string {
	switch {
	case t.IsZero():
		return "is not set"
	case !inCalendar(t):
		return outsideCalendar
	case t.Nanosecond() != 0:
		return "has a fraction of a second"
	}
	return ""
}

// inCalendar reports whether t, in UTC, lies in the years 1 to 9999.
func inCalendar(t time.Time) bool {
	year := t.UTC().Year()
	return 1 <= year && year <= 9999
}

// parseInstant is strict: only what formatInstant writes is accepted, whereas
// time.Parse takes fractions and one-digit hours too.
func parseInstant(kind, part, s string) (time.Time, error) {
	t, err := time.Parse(instantLayout, s)
	if err != nil || formatInstant(t) != s {
		return time.Time{}, &PartError{Kind: kind, Part: part, Value: excerpt(s),
			Problem: "is not an instant in UTC with whole seconds (want " + instantLayout + ")"}
	}
	return t, nil
}
