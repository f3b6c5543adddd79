// Package civil holds dates and times of day as people write them, without a
// zone, and the one place where they become instants: [Resolve].
//
// All types are small values; every function is pure, except that [LoadZone]
// remembers the zones it has loaded. Everything may be used from several
// goroutines at once.
package civil

import (
	"cmp"
	"fmt"
	"time"
)

const (
	maxYear = 9999
	maxDays = 3652058 // from 0001-01-01 to 9999-12-31
	daySecs = 24 * 60 * 60
)

// Date is a day in the Gregorian calendar, in no particular zone, such as the
// day on which a certificate expires. Years run from 1 to 9999.
//
// Dates may be compared with == and used as map keys. The zero Date means "no
// date": it is not Valid, and its text is empty.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// DateOf returns the date that a calendar in loc shows at t. It panics if loc
// is nil. An instant outside the years 1 to 9999 gives a Date that is not
// Valid.
func DateOf(t time.Time, loc *time.Location) Date {
	year, month, day := t.In(loc).Date()
	return Date{Year: year, Month: month, Day: day}
}

// ParseDate reads a date written exactly as 2006-01-02. It refuses any other
// form, surrounding space included, and dates that do not exist, such as
// 2026-02-30; the error names the text and which of the two was wrong.
func ParseDate(s string) (Date, error) {
	if !hasForm(s, "0000-00-00") {
		return Date{}, fmt.Errorf("date %.40q must be written as YYYY-MM-DD", s)
	}
	d := Date{Year: number(s[:4]), Month: time.Month(number(s[5:7])), Day: number(s[8:])}
	if !d.Valid() {
		return Date{}, fmt.Errorf("date %q does not exist", s)
	}
	return d, nil
}

// String returns the date as 2006-01-02. The zero Date gives 0000-00-00, which
// ParseDate refuses.
func (d Date) String() string {
	return fmt.Sprintf("%04d-%02d-%02d", d.Year, int(d.Month), d.Day)
}

// IsZero reports whether d is the zero Date, "no date".
func (d Date) IsZero() bool { return d == Date{} }

// Valid reports whether d is a day that exists, in a year from 1 to 9999.
func (d Date) Valid() bool {
	return d.Year >= 1 && d.Year <= maxYear && DateOf(d.midnight(), time.UTC) == d
}

// AddDays returns the date n days later, or earlier if n is negative. If d is
// not Valid, or the result would leave the years 1 to 9999, it returns the zero
// Date.
func (d Date) AddDays(n int) Date {
	if !d.Valid() || n > maxDays || n < -maxDays {
		return Date{}
	}
	sum := DateOf(d.midnight().AddDate(0, 0, n), time.UTC)
	if !sum.Valid() {
		return Date{}
	}
	return sum
}

// DaysUntil returns how many days after d the date other is: 1 for tomorrow,
// negative if other is earlier. Both dates must be Valid.
func (d Date) DaysUntil(other Date) int {
	return int((other.midnight().Unix() - d.midnight().Unix()) / daySecs)
}

// Weekday returns the day of the week. The date must be Valid.
func (d Date) Weekday() time.Weekday { return d.midnight().Weekday() }

// Compare returns -1 if d is before other, 0 if they are the same date and +1
// if d is after other. The zero Date is before every Valid one.
func (d Date) Compare(other Date) int {
	return cmp.Or(
		cmp.Compare(d.Year, other.Year),
		cmp.Compare(d.Month, other.Month),
		cmp.Compare(d.Day, other.Day),
	)
}

// Before reports whether d is earlier than other.
func (d Date) Before(other Date) bool { return d.Compare(other) < 0 }

// After reports whether d is later than other.
func (d Date) After(other Date) bool { return d.Compare(other) > 0 }

// MarshalText returns the text of String, or empty text for the zero Date. A
// date that does not exist is refused.
func (d Date) MarshalText() ([]byte, error) {
	if d.IsZero() {
		return []byte{}, nil
	}
	if !d.Valid() {
		return nil, fmt.Errorf("date %q does not exist", d)
	}
	return []byte(d.String()), nil
}

// UnmarshalText reads what ParseDate accepts; empty text gives the zero Date.
// On an error d is left as it was.
func (d *Date) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = Date{}
		return nil
	}
	parsed, err := ParseDate(string(text))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// Start returns the first instant of d in loc: midnight, or when clocks jump over it.
func (d Date) Start(loc *time.Location) (time.Time, error) {
	on, _, err := Resolve(d, TimeOfDay{}, loc, Policy{})
	return on, err
}

// midnight places the date in UTC, where every day has 24 hours, so that
// arithmetic on dates knows nothing of zones.
func (d Date) midnight() time.Time {
	return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC)
}

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
		return TimeOfDay{}, fmt.Errorf("time of day %.40q must be written as HH:MM or HH:MM:SS", s)
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

// hasForm reports whether s has a digit wherever form has one, and otherwise
// the same characters. The parsers use it because package time is lenient: it
// reads 9:00 for 15:04 and takes fractions of a second that no layout asks for.
func hasForm(s, form string) bool {
	if len(s) != len(form) {
		return false
	}
	for i := range len(s) {
		if isDigit(form[i]) != isDigit(s[i]) || !isDigit(form[i]) && s[i] != form[i] {
			return false
		}
	}
	return true
}

// number returns the value of a short run of digits.
func number(digits string) int {
	n := 0
	for _, c := range digits {
		n = n*10 + int(c-'0')
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
