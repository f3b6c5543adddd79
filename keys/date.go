package keys

import "time"

// dateProblem says why s is not a civil date, or "" if it is one.
func dateProblem(s string) string {
	if s == "" {
		return "is empty"
	}
	d, err := time.Parse(time.DateOnly, s)
	if err != nil || d.Year() < 1 {
		return "is not a date that exists (want 2006-01-02)"
	}
	return ""
}
