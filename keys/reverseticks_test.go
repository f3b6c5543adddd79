package keys_test

import (
	"math"
	"testing"
	"time"

	"github.com/belfry-go/belfry/keys"
	"pgregory.net/rapid"
)

// TestReverseTicksOfKnownInstants: the ticks of the Unix epoch in .NET are
// 621355968000000000, those of its last moment 3155378975999999999.
func TestReverseTicksOfKnownInstants(t *testing.T) {
	t.Parallel()
	for want, at := range map[string]time.Time{
		"2534023007999999999": time.Unix(0, 0),
		"3155378975999999999": {},
		"0000000000000000009": time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC),
		"2516299487999999999": time.Date(2026, 3, 1, 8, 0, 0, 999, time.UTC),
		"2516299487999999989": time.Date(2026, 3, 1, 8, 0, 0, 1000, time.UTC),
		"2534023008000000009": time.Unix(0, -1), // cut downwards, before 1970 too
	} {
		got, err := keys.ReverseTicks(at)
		if err != nil || got != want {
			t.Errorf("%v: got %s, %v, want %s", at, got, err, want)
		}
		back, err := keys.FromReverseTicks(want)
		if err != nil || !back.Equal(at.Truncate(time.Microsecond)) || back.Location() != time.UTC {
			t.Errorf("%s: got %v, %v, want %v in UTC", want, back, err, at)
		}
	}
}

func TestReverseTicksRefuses(t *testing.T) {
	t.Parallel()
	for _, seconds := range []int64{-62135596801, 253402300800, math.MaxInt64, math.MinInt64} {
		got, err := keys.ReverseTicks(time.Unix(seconds, 0))
		if err == nil {
			t.Errorf("%d: got %s, want an error", seconds, got)
			continue
		}
		wantPartError(t, err)
	}
}

func TestFromReverseTicksRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "9", "0000000000000000000", "251629948799999999", "02516299487999999999",
		"2516299487999999998", "3155378976000000009", "3155378976000000005", "9999999999999999999", "99999999999999999999",
		"+516299487999999999", "-516299487999999999", " 516299487999999999", "251629948799999999x", "2_16299487999999999",
	} {
		at, err := keys.FromReverseTicks(s)
		if err == nil {
			t.Errorf("%q: got %v, want an error", s, at)
			continue
		}
		wantPartError(t, err)
	}
}

// TestReverseTicksSortNewestFirst to the microsecond, in any zone.
func TestReverseTicksSortNewestFirst(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := anyInstant().Draw(t, "a")
		b := rapid.OneOf(anyInstant(), rapid.Just(a.Add(time.Microsecond)), rapid.Just(a.Add(1))).Draw(t, "b")
		x, errA := keys.ReverseTicks(a)
		y, errB := keys.ReverseTicks(b)
		if errA != nil || errB != nil {
			return
		}
		newer := b.Truncate(time.Microsecond).Compare(a.Truncate(time.Microsecond))
		if (newer > 0) != (y < x) || (newer == 0) != (x == y) || len(x) != 19 {
			t.Fatalf("%v is %s, %v is %s", a, x, b, y)
		}
	})
}
