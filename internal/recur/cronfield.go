package recur

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

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
			return fmt.Errorf("%q is no number, range or step", p)
		}
		if m[1] != "" && len(parts) > 1 {
			return errors.New("a star in a list")
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
		return fmt.Errorf("the step %s is not from 1 to %d", step, f.max)
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
		return 0, fmt.Errorf("%s is not from %d to %d", text, f.min, f.max)
	}
	return n, nil
}
