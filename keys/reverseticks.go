package keys

import (
	"fmt"
	"strconv"
	"time"
)

// .NET counts ticks of 100 ns from the first moment of the year 1.
const (
	ticksPerSecond      = 10_000_000
	ticksPerMicrosecond = 10
	unixEpochSeconds    = 62135596800         // from the year 1 to 1970
	maxTicks            = 3155378975999999999 // 9999-12-31T23:59:59.9999999
	reverseTicksLen     = 19
)

// ReverseTicks is a text that sorts newer instants first (Communication -
// System architecture, "Key policy"): the .NET ticks of
// 9999-12-31T23:59:59.9999999 minus those of t, truncated to microseconds, in
// 19 digits. The zone of t does not matter. An instant outside the years 1 to
// 9999 is refused with a [*PartError].
func ReverseTicks(t time.Time) (string, error) {
	if !inCalendar(t) {
		return "", &PartError{Kind: "reverse ticks", Problem: outsideCalendar}
	}
	micros := int64(t.Nanosecond() / int(time.Microsecond))
	ticks := (t.Unix()+unixEpochSeconds)*ticksPerSecond + micros*ticksPerMicrosecond
	return fmt.Sprintf("%0*d", reverseTicksLen, maxTicks-ticks), nil
}

// FromReverseTicks gives the instant, in UTC, whose [ReverseTicks] is s. It
// refuses every other text with a [*PartError], ticks that are no whole
// microsecond among them.
func FromReverseTicks(s string) (time.Time, error) {
	reverse, err := strconv.ParseUint(s, 10, 63) // no sign
	if err != nil || len(s) != reverseTicksLen || reverse > maxTicks || (maxTicks-reverse)%ticksPerMicrosecond != 0 {
		return time.Time{}, &PartError{Kind: "reverse ticks", Value: excerpt(s),
			Problem: "is not 19 digits that stand for a whole microsecond in the years 1 to 9999"}
	}
	ticks := int64(maxTicks - reverse)
	nanos := ticks % ticksPerSecond * 100
	return time.Unix(ticks/ticksPerSecond-unixEpochSeconds, nanos).UTC(), nil
}
