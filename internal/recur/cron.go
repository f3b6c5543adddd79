package recur

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/adhocore/gronx"
)

// tags are the short names that every cron knows. The library has more, and any code in
// the process can add to them.
var tags = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *",
	"@weekly": "0 0 * * 0", "@daily": "0 0 * * *", "@hourly": "0 * * * *",
}

// parseCron checks an expression strictly, since the library takes a part that
// is wrong where an earlier part of its list happens to be due. The cadence has it
// in capitals with single spaces.
func parseCron(s Spec) (*Cadence, error) {
	text := s.Cron
	if len(text) > maxText {
		return nil, fmt.Errorf("cron: longer than %d bytes", maxText)
	}
	fields := strings.Fields(strings.ToUpper(text))
	if len(fields) > 0 && strings.HasPrefix(fields[0], "@") {
		expr, known := tags[strings.ToLower(strings.TrimSpace(text))]
		if !known {
			return nil, fmt.Errorf("cron %q: must be one of @yearly, @annually, @monthly, @weekly, @daily, @hourly, or five fields", text)
		}
		fields = strings.Fields(expr)
	}
	if len(fields) != len(cronFields) {
		return nil, fmt.Errorf("cron %q: %d fields, want 5: minute, hour, day of month, month, day of week (no seconds, no years)", text, len(fields))
	}
	for i, f := range cronFields {
		if err := f.check(fields[i]); err != nil {
			return nil, fmt.Errorf("cron %q: %s: %w", text, f.name, err)
		}
	}
	s.Cron = strings.Join(fields, " ")
	return &Cadence{spec: s, next: func(after time.Time) (time.Time, bool) { return cronAfter(s.Cron, after) }}, nil
}

// cronAfter believes the library's search only if its own matcher agrees: where
// the search gives up, it may stand on a day that is not due.
func cronAfter(expr string, after time.Time) (time.Time, bool) {
	next, err := gronx.NextTickAfter(expr, after, false)
	if err != nil || !next.After(after) {
		return time.Time{}, false
	}
	due, err := gronx.New().IsDue(expr, next)
	return next, err == nil && due
}

// cronField is one of the five columns of a cron expression.
type cronField struct {
	name     string
	min, max int
	names    []string // of min and the numbers behind it
	special  *regexp.Regexp
}

var cronFields = []cronField{
	{name: "minute", max: 59},
	{name: "hour", max: 23},
	{name: "day of month", min: 1, max: 31, special: regexp.MustCompile(`^(L|(3[01]|[12][0-9]|[1-9])W)$`)},
	{name: "month", min: 1, max: 12, names: strings.Fields("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC")},
	{name: "day of week", max: 7, names: strings.Fields("SUN MON TUE WED THU FRI SAT"),
		special: regexp.MustCompile(`^([0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)(L|#[1-5])$`)},
}

// part is a number, a range, or a star, each with a step or without.
var part = regexp.MustCompile(`^(?:(\*)|([A-Z0-9]+)(?:-([A-Z0-9]+))?)(?:/([0-9]+))?$`)

// check accepts a star, or a list of numbers, names, ranges and steps.
func (f cronField) check(text string) error {
	parts := strings.Split(text, ",")
	for _, p := range parts {
		if f.special != nil && f.special.MatchString(p) {
			continue
		}
		m := part.FindStringSubmatch(p)
		if m == nil {
			return fmt.Errorf("%q is not a number, range or step", p)
		}
		if m[1] != "" && len(parts) > 1 {
			return errors.New("a list must not contain a star")
		}
		if err := f.checkPart(m[2], m[3], m[4]); err != nil {
			return err
		}
	}
	return nil
}

func (f cronField) checkPart(from, to, step string) error {
	first := f.min
	var err error
	if from != "" {
		if first, err = f.number(from); err != nil {
			return err
		}
	}
	if to != "" {
		last, err := f.number(to)
		if err != nil {
			return err
		}
		if last < first {
			return fmt.Errorf("the range %s-%s runs backwards", from, to)
		}
	}
	if n, err := strconv.Atoi(step); step != "" && (err != nil || n < 1 || n > f.max) {
		return fmt.Errorf("the step %s must be 1 to %d", step, f.max)
	}
	return nil
}

func (f cronField) number(text string) (int, error) {
	for i, name := range f.names {
		if text == name {
			return f.min + i, nil
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < f.min || n > f.max {
		return 0, fmt.Errorf("%s must be %d to %d", text, f.min, f.max)
	}
	return n, nil
}
