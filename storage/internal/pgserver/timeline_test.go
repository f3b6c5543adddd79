package pgserver

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// look is a reading whose round trip took rtt and ended at the local moment
// received, when the server's clock stood at server.
func look(received, rtt time.Duration, server time.Time) reading {
	return reading{sent: received - rtt, received: received, server: server.Add(-rtt / 2)}
}

func TestFirstReadingIsShownWithinHalfARoundTrip(t *testing.T) {
	t.Parallel()
	l := timeline{}.next(look(time.Hour, 10*time.Millisecond, noon), time.Hour)
	if diff := cmp.Diff(noon, l.now(time.Hour)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(5*time.Millisecond+10*time.Millisecond/drift+resolution, l.uncertainty(time.Hour)); diff != "" {
		t.Error(diff)
	}
}

func TestUncertaintyGrowsWhileNobodyReads(t *testing.T) {
	t.Parallel()
	l := timeline{}.next(look(0, 0, noon), 0)
	if diff := cmp.Diff(resolution+720*time.Millisecond, l.uncertainty(time.Hour)); diff != "" {
		t.Error(diff)
	}
}

func TestSlowReadingDoesNotSpoilAGoodOne(t *testing.T) {
	t.Parallel()
	l := timeline{}.next(look(0, time.Millisecond, noon), 0)
	before := l.uncertainty(time.Second)
	l = l.next(look(time.Second, 4*time.Second, noon.Add(time.Second)), time.Second)
	if after := l.uncertainty(time.Second); after > before+resolution {
		t.Errorf("uncertainty %v after a slow reading, %v before", after, before)
	}
}

func TestServerSetForwardIsFollowedAtOnce(t *testing.T) {
	t.Parallel()
	l := timeline{}.next(look(0, 0, noon), 0)
	l = l.next(look(time.Second, 0, noon.Add(time.Hour)), time.Second)
	if diff := cmp.Diff(noon.Add(time.Hour), l.now(time.Second)); diff != "" {
		t.Error(diff)
	}
}

func TestServerSetBackIsFollowedAtHalfSpeed(t *testing.T) {
	t.Parallel()
	l := timeline{}.next(look(0, 0, noon), 0)
	l = l.next(look(time.Second, 0, noon.Add(-9*time.Second)), time.Second) // 10 s back
	want := map[time.Duration]time.Time{
		1 * time.Second:  noon.Add(1 * time.Second),
		11 * time.Second: noon.Add(6 * time.Second),
		21 * time.Second: noon.Add(11 * time.Second), // caught up
		31 * time.Second: noon.Add(21 * time.Second),
	}
	got := map[time.Duration]time.Time{}
	for at := range want {
		got[at] = l.now(at)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if u := l.uncertainty(time.Second); u < 10*time.Second {
		t.Errorf("uncertainty %v hides that the clock shows 10 s too much", u)
	}
	if u := l.uncertainty(21 * time.Second); u > 10*time.Millisecond {
		t.Errorf("uncertainty %v after the clock caught up", u)
	}
}

// Whatever the server's clock and the network do, the clock never goes back;
// and while the server's clock runs steadily, it is as right as it says.
func TestTimelineNeverGoesBackAndKeepsItsBound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var (
			local  time.Duration
			l      timeline
			last   time.Time
			server = noon
			steps  = rapid.Bool().Draw(t, "steps")
			ppm    = rapid.Int64Range(-190, 190).Draw(t, "ppm")
		)
		pass := func(d time.Duration) {
			local += d
			server = server.Add(d + d*time.Duration(ppm)/1_000_000)
		}
		for range rapid.IntRange(1, 30).Draw(t, "readings") {
			r := reading{sent: local}
			pass(time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "there")))
			r.server = server.Truncate(resolution)
			pass(time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "back")))
			r.received = local
			pass(time.Duration(rapid.Int64Range(0, int64(time.Millisecond)).Draw(t, "late")))
			l = l.next(r, local)
			for range rapid.IntRange(0, 3).Draw(t, "looks") {
				pass(time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "later")))
				now := l.now(local)
				if now.Before(last) {
					t.Fatalf("went back from %v to %v", last, now)
				}
				last = now
				if off := now.Sub(server).Abs(); !steps && off > l.uncertainty(local)+resolution {
					t.Fatalf("off by %v, said %v", off, l.uncertainty(local))
				}
			}
			if steps {
				server = server.Add(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "step")))
			}
		}
	})
}
