package survey

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// DurationError says what is wrong with the text of a duration, and where.
type DurationError struct {
	Text     string
	Position int // of the faulty character, counted from 1
	Problem  string
}

func (e *DurationError) Error() string { return "survey: duration " + e.detail() }

func (e *DurationError) detail() string {
	return fmt.Sprintf("%.40q %s (at position %d)", e.Text, e.Problem, e.Position)
}

// durationUnits are the units from the largest to the smallest.
var durationUnits = []struct {
	letter byte
	length time.Duration
}{{'w', 7 * oneDay}, {'d', oneDay}, {'h', time.Hour}, {'m', time.Minute}}

// ParseDuration reads the text of a duration: whole numbers, each with its unit w, d,
// h or m, from the largest unit to the smallest and none of them twice. Anything else
// is a [*DurationError], and so is what is longer than a time.Duration can be, 292
// years.
func ParseDuration(text string) (Duration, error) {
	if text == "" {
		return 0, &DurationError{text, 1, "is empty"}
	}
	var sum time.Duration
	for at, last := 0, -1; at < len(text); {
		end := at + len(text[at:]) - len(strings.TrimLeft(text[at:], "0123456789"))
		unit, problem := unitAt(text, end, last)
		switch {
		case end == at:
			return 0, &DurationError{text, at + 1, "has no number there"}
		case problem != "":
			return 0, &DurationError{text, end + 1, problem}
		}
		length := durationUnits[unit].length
		n, err := strconv.ParseInt(text[at:end], 10, 64)
		if err != nil || n > int64((math.MaxInt64-sum)/length) {
			return 0, &DurationError{text, at + 1, "is too long"}
		}
		sum += time.Duration(n) * length
		at, last = end+1, unit
	}
	return Duration(sum), nil
}

// unitAt is the index of the unit that stands at a place of text, behind the unit
// last.
func unitAt(text string, at, last int) (unit int, problem string) {
	if at == len(text) {
		return 0, "ends without a unit: w, d, h or m"
	}
	for i, u := range durationUnits {
		switch {
		case u.letter != text[at]:
		case i <= last:
			return 0, "has its units not in the order w, d, h, m, each once"
		default:
			return i, ""
		}
	}
	return 0, "has a unit that is none of w, d, h and m"
}
