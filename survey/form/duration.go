package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/strictjson"
)

// Duration is a length of time in whole minutes, such as "0d", "15m", "4h", "2d",
// "1w" or "1d12h" (Triggers & Scheduler, "schedule.initialDelay"). A day has 24
// hours, also where clocks are changed.
type Duration time.Duration

const oneDay = 24 * time.Hour

// UnmarshalJSON reads the text of a duration.
func (d *Duration) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil || len(text) == 0 || text[0] != '"' {
		return strictjson.Faults{{Problem: `is not a text such as "2d"`}}.Err()
	}
	read, err := ParseDuration(s)
	if fault := (*DurationError)(nil); errors.As(err, &fault) {
		return strictjson.Faults{{Problem: fault.detail()}}.Err()
	}
	*d = read
	return nil
}

// MarshalJSON writes d as String does. What is negative or has a part of a minute is
// an error.
func (d Duration) MarshalJSON() ([]byte, error) {
	if !d.whole() {
		return nil, fmt.Errorf("survey: duration %v is not in whole minutes from zero on", time.Duration(d))
	}
	return json.Marshal(d.String())
}

func (d Duration) whole() bool { return d >= 0 && time.Duration(d)%time.Minute == 0 }

// String is the canonical text: days, hours and minutes, such as "1d12h" or "60d";
// zero is "0d". ParseDuration reads it back, unless d is negative or has a part of a
// minute.
func (d Duration) String() string {
	if !d.whole() {
		return time.Duration(d).String()
	}
	if d == 0 {
		return "0d"
	}
	var out []byte
	rest := time.Duration(d)
	for _, u := range durationUnits[1:] {
		if n := rest / u.length; n > 0 {
			out = append(strconv.AppendInt(out, int64(n), 10), u.letter)
		}
		rest %= u.length
	}
	return string(out)
}

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
	return 0, "has a unit that is not one of w, d, h and m"
}
