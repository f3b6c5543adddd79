package survey

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
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
		return strictjson.Faults{{Problem: `is no text such as "2d"`}}.Err()
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
