package keys

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Parsed is a parsed key, a value of type [Reminder], [Threshold], [Recurring],
// [Instant], [ReportRun], [ManualReportRun], [Host], [HostRun], [NotificationEvent] or
// [SurveyInstance]. Use a type switch. Other packages cannot implement it.
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

// parseFormat splits the components. Key checks them, so that the rules exist once. Only
// numbers and instants, whose text is lost by parsing, are checked here for their
// canonical form.
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
	return nil, &PartError{Kind: "key", Problem: "must begin with reminder:, report-subscription:, host:, event: or survey:"}
}

// components splits s into n; the last one keeps what colons are left.
func components(kind, s string, n int) ([]string, error) {
	c := strings.SplitN(s, ":", n)
	if len(c) != n {
		return nil, &PartError{Kind: kind, Problem: fmt.Sprintf("has %d components, want %d", len(c), n)}
	}
	return c, nil
}

// builder writes the components of one key in order and keeps the first
// problem, so that a format reads as the list of its components.
type builder struct {
	kind string
	text strings.Builder
	err  *PartError
}

// newBuilder starts a key of the given kind with its literal first component.
func newBuilder(kind, prefix string) *builder {
	b := &builder{kind: kind}
	b.text.Grow(128) // most are shorter
	b.text.WriteString(prefix)
	return b
}

func (b *builder) literal(word string) {
	b.text.WriteByte(':')
	b.text.WriteString(word)
}

// part writes a component of free text.
func (b *builder) part(name, value string) {
	if p := textProblem(value, MaxPartLen, ":"); p != "" {
		b.refuse(name, "", p)
		return
	}
	b.literal(value)
}

// origin writes the four components that all reminder formats share.
func (b *builder) origin(setting, sourceType, source, triggerKey string) {
	b.part("setting", setting)
	b.part("sourceType", sourceType)
	b.part("source", source)
	b.part("triggerKey", triggerKey)
}

func (b *builder) date(name, value string) {
	if p := dateProblem(value); p != "" {
		b.refuse(name, value, p)
		return
	}
	b.literal(value)
}

func (b *builder) instant(name string, t time.Time) {
	text := formatInstant(t)
	if p := instantProblem(t); p != "" {
		b.refuse(name, text, p)
		return
	}
	b.literal(text)
}

func (b *builder) days(name string, n int) {
	text := strconv.Itoa(n)
	if n < -MaxOffsetDays || n > MaxOffsetDays {
		b.refuse(name, text, "is more than "+strconv.Itoa(MaxOffsetDays)+" days away")
		return
	}
	b.literal(text)
}

func (b *builder) span(name string, d time.Duration) {
	text := formatSpan(d)
	switch {
	case d%time.Second != 0:
		b.refuse(name, text, "has a fraction of a second")
		return
	case d < -MaxOffsetDays*24*time.Hour || d > MaxOffsetDays*24*time.Hour:
		b.refuse(name, text, "is more than "+strconv.Itoa(MaxOffsetDays)+" days")
		return
	}
	b.literal(text)
}

// refuse keeps the first problem; value is shown, so it is "" for free text.
func (b *builder) refuse(name, value, problem string) {
	if b.err == nil {
		b.err = &PartError{Kind: b.kind, Part: name, Problem: problem, Value: excerpt(value)}
	}
}

func (b *builder) key() (string, error) {
	key := b.text.String()
	if p := lengthProblem(key, MaxKeyLen); p != "" {
		b.refuse("", "", p)
	}
	if b.err != nil {
		return "", b.err
	}
	return key, nil
}

// maxExcerpt is how many bytes of a refused value an error shows.
const maxExcerpt = 32

// PartError says which component of which format was refused, and why. All errors of this
// package are of this type. It contains no free text of the caller (ids, scopes), which
// may be personal, so it can be logged.
type PartError struct {
	Kind    string // the format, such as "reminder", "threshold" or "identity"
	Part    string // its component, such as "triggerKey"; empty: the whole
	Problem string // what is wrong, such as "holds ':' at byte 3"

	// Value is the refused value of a component with a closed format (a date,
	// a number, a policy), at most 32 bytes of it; empty for free text.
	Value string
}

// Error names the format, the component and the problem in one line.
func (e *PartError) Error() string {
	var b strings.Builder
	b.WriteString("keys: " + e.Kind)
	if e.Part != "" {
		b.WriteString(": " + e.Part)
	}
	if e.Value != "" {
		fmt.Fprintf(&b, " %q", e.Value)
	}
	return b.String() + ": " + e.Problem
}

// excerpt shortens a refused value for an error.
func excerpt(value string) string {
	if len(value) <= maxExcerpt {
		return value
	}
	return value[:maxExcerpt-3] + "..."
}

// separator separates the parts of a joined identity. It is a control character, so a
// part of a key cannot contain it.
const separator = "\x1f"

// Join makes one text of an identity that has several parts: partition and
// row key, or the dispatch guard with artifact type, partition key, row key
// and notification event type (Communication - System architecture,
// "NotificationScheduler dispatch guard"). The parts stand in order with
// U+001F between them, so that one unique index on the text is the guard, and
// all rows of a partition are one range of it.
//
// It refuses an empty list, a part that is empty, is not valid UTF-8 or contains a
// control character, and more than [MaxIdentityLen] bytes in total. A ':' is allowed,
// since parts are often keys. The error is a [*PartError].
func Join(parts ...string) (string, error) {
	if len(parts) == 0 {
		return "", &PartError{Kind: "identity", Problem: "has no parts"}
	}
	for i, part := range parts {
		if p := textProblem(part, MaxIdentityLen, ""); p != "" {
			return "", &PartError{Kind: "identity", Part: "part " + strconv.Itoa(i+1), Problem: p}
		}
	}
	joined := strings.Join(parts, separator)
	if p := lengthProblem(joined, MaxIdentityLen); p != "" {
		return "", &PartError{Kind: "identity", Problem: p}
	}
	return joined, nil
}

// Split returns the parts of a text that [Join] made, and refuses every other text with a
// [*PartError].
func Split(identity string) ([]string, error) {
	parts := strings.Split(identity, separator)
	if _, err := Join(parts...); err != nil {
		return nil, err
	}
	return parts, nil
}
