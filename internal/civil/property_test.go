package civil

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var opposite = Policy{Gap: ShiftBack, Overlap: Second}

// outcome is what Resolve says under the default policy and its opposite.
type outcome struct {
	Instant, Opposite int64
	How, HowOpposite  Resolution
}

func TestResolveAgreesWithAScanOfEverySecond(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := genMoment().Draw(t, "moment")
		at, how := resolve(t, m, Policy{})
		opp, howOpp := resolve(t, m, opposite)
		got := outcome{at.Unix(), opp.Unix(), how, howOpp}
		if diff := cmp.Diff(scan(m), got); diff != "" {
			t.Fatalf("%v %v in %v: %s", m.d, m.tod, m.loc, diff)
		}
	})
}

// scan watches the clocks second by second, from a time at which they surely
// show less than the reading to one at which they surely show more.
func scan(m moment) outcome {
	reading := m.d.midnight().Unix() + m.tod.sinceMidnight()
	lowest, highest := offsetsAround(reading, m.loc)
	var shown []int64
	var after int64
	for sec := reading - highest - 1; sec <= reading-lowest+1; sec++ {
		now := showAt(sec, m.loc)
		if now == reading {
			shown = append(shown, sec)
		}
		if now > reading && after == 0 {
			after = sec
		}
	}
	switch len(shown) {
	case 0:
		return outcome{after, after - 1, ShiftedForward, ShiftedBack}
	case 1:
		return outcome{shown[0], shown[0], Exact, Exact}
	default:
		return outcome{shown[0], shown[1], FirstOfTwo, SecondOfTwo}
	}
}

func offsetsAround(reading int64, loc *time.Location) (lowest, highest int64) {
	lowest, highest = daySecs, -daySecs
	for sec := reading - daySecs; sec <= reading+daySecs; sec += 1800 {
		offset := showAt(sec, loc) - sec
		lowest, highest = min(lowest, offset), max(highest, offset)
	}
	return lowest, highest
}

func TestClocksShowTheTimeThatWasAskedForUnlessItIsInAGap(t *testing.T) {
	t.Parallel()
	const layout = "2006-01-02 15:04:05"
	rapid.Check(t, func(t *rapid.T) {
		m := genMoment().Draw(t, "moment")
		asked := m.d.midnight().Add(time.Duration(m.tod.sinceMidnight()) * time.Second).Format(layout)
		for _, p := range []Policy{{}, opposite} {
			at, how := resolve(t, m, p)
			gap := how == ShiftedForward || how == ShiftedBack
			if shown := at.In(m.loc).Format(layout); (shown == asked) == gap {
				t.Fatalf("%s in %v: %v, and at %v clocks show %s", asked, m.loc, how, at, shown)
			}
			if at.Location() != time.UTC {
				t.Fatalf("%s in %v: %v is not in UTC", asked, m.loc, at)
			}
		}
	})
}

func TestTheFirstOfTwoIsBeforeTheSecond(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := genMoment().Draw(t, "moment")
		first, how := resolve(t, m, Policy{Overlap: First})
		second, howSecond := resolve(t, m, Policy{Overlap: Second})
		twice := how == FirstOfTwo
		if twice != (howSecond == SecondOfTwo) || twice != first.Before(second) || !twice && !first.Equal(second) {
			t.Fatalf("%v %v in %v: first %v (%v), second %v (%v)", m.d, m.tod, m.loc, first, how, second, howSecond)
		}
	})
}

func TestALaterLocalTimeNeverComesEarlier(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		loc := zone(t, rapid.SampledFrom(trickyZones).Draw(t, "zone"))
		reading := genReading(loc).Draw(t, "reading")
		later := reading + rapid.Int64Range(1, daySecs).Draw(t, "later by")
		for _, p := range []Policy{{}, opposite} {
			a, how := resolve(t, momentAt(reading, loc), p)
			b, howLater := resolve(t, momentAt(later, loc), p)
			if b.Before(a) || a.Equal(b) && how == Exact && howLater == Exact {
				t.Fatalf("%+v: %v (%v) comes before %v (%v)", p, a, how, b, howLater)
			}
		}
	})
}

func resolve(t *rapid.T, m moment, p Policy) (time.Time, Resolution) {
	t.Helper()
	at, how, err := Resolve(m.d, m.tod, m.loc, p)
	if err != nil {
		t.Fatalf("%v %v in %v: %v", m.d, m.tod, m.loc, err)
	}
	return at, how
}
