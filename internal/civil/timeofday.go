package civil

import "fmt"

// TimeOfDay is what a clock on the wall shows, to the second, in no particular
// zone. The zero value is midnight, 00:00.
type TimeOfDay struct {
	Hour, Minute, Second int
}

// ParseTimeOfDay reads a time written exactly as 15:04 or 15:04:05. It refuses
// any other form (9:00, fractions, surrounding space) and times that no clock
// shows, such as 24:00 or 23:59:60; the error names the text and which of the
// two was wrong.
func ParseTimeOfDay(s string) (TimeOfDay, error) {
	if !hasForm(s, "00:00") && !hasForm(s, "00:00:00") {
		return TimeOfDay{}, fmt.Errorf("time of day %.40q is not written as HH:MM or HH:MM:SS", s)
	}
	tod := TimeOfDay{Hour: number(s[:2]), Minute: number(s[3:5])}
	if len(s) > len("00:00") {
		tod.Second = number(s[6:])
	}
	if !tod.Valid() {
		return TimeOfDay{}, fmt.Errorf("time of day %q does not exist: times run from 00:00 to 23:59:59", s)
	}
	return tod, nil
}

// String returns the time as 15:04, or as 15:04:05 if it has seconds, so that
// equal times have equal texts.
func (tod TimeOfDay) String() string {
	if tod.Second == 0 {
		return fmt.Sprintf("%02d:%02d", tod.Hour, tod.Minute)
	}
	return fmt.Sprintf("%02d:%02d:%02d", tod.Hour, tod.Minute, tod.Second)
}

// Valid reports whether tod is from 00:00 to 23:59:59. There is no 24:00 and no
// leap second.
func (tod TimeOfDay) Valid() bool {
	return 0 <= tod.Hour && tod.Hour < 24 &&
		0 <= tod.Minute && tod.Minute < 60 &&
		0 <= tod.Second && tod.Second < 60
}

// sinceMidnight returns the seconds that a clock counts from 00:00 to tod.
func (tod TimeOfDay) sinceMidnight() int64 {
	return int64(tod.Hour*3600 + tod.Minute*60 + tod.Second)
}
