package keys

import (
	"fmt"
	"strings"
)

// Parsed is what a key says: a [Reminder], [Threshold], [Recurring],
// [ReportRun], [ManualReportRun], [Host], [NotificationEvent] or
// [SurveyInstance], as a value. A type switch tells which. No other package can implement it.
type Parsed interface {
	// Key builds the key again; for a value from Parse it gives the parsed text.
	Key() (string, error)
	parsed()
}

// Parse reads a key of any format. It accepts exactly the texts that the
// formats' Key methods give, and returns the value that gives them; instants
// come back in UTC. Everything else is refused with a [*PartError].
func Parse(key string) (Parsed, error) {
	if p := lengthProblem(key, MaxKeyLen); p != "" {
		return nil, &PartError{Kind: "key", Problem: p}
	}
	parsed, err := parseFormat(key)
	if err != nil {
		return nil, err
	}
	if _, err := parsed.Key(); err != nil {
		return nil, err
	}
	return parsed, nil
}

// parseFormat takes the components apart. Whether each is acceptable is left
// to Key, so that the rules exist once; only numbers and instants, whose text
// is gone once parsed, are checked here to be canonical.
func parseFormat(key string) (Parsed, error) {
	prefix, _, _ := strings.Cut(key, ":")
	switch prefix {
	case "reminder":
		return parseReminder(key)
	case "report-subscription":
		return parseReport(key)
	case "host":
		return parseHost(key)
	case "event":
		return parseEvent(key)
	case "survey":
		return parseSurveyInstance(key)
	}
	return nil, &PartError{Kind: "key", Problem: "begins with none of reminder:, report-subscription:, host:, event:, survey:"}
}

// components splits s into n; the last one keeps what colons are left.
func components(kind, s string, n int) ([]string, error) {
	c := strings.SplitN(s, ":", n)
	if len(c) != n {
		return nil, &PartError{Kind: kind, Problem: fmt.Sprintf("has %d components, want %d", len(c), n)}
	}
	return c, nil
}
