package pgserver

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"
)

// machine is a computer with a monotonic clock, far from a server whose clock
// the test sets. Its timers are those of a bubble.
type machine struct {
	clock.Clock
	step   atomic.Int64 // by which its wall clock was set
	uptime atomic.Int64
	server atomic.Pointer[time.Time]
	broken atomic.Bool
	looks  chan struct{} // one per reading after the first
}

func newMachine(t *testing.T) (*machine, *Clock) {
	t.Helper()
	m := &machine{Clock: clock.New(), looks: make(chan struct{}, 100)}
	m.set(noon)
	c, err := newClock(t.Context(), m, m.elapsed, m.read)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	<-m.looks
	return m, c
}

func (m *machine) elapsed() time.Duration { return time.Duration(m.uptime.Load()) }

func (m *machine) Now() time.Time { return m.Clock.Now().Add(time.Duration(m.step.Load())) }

func (m *machine) set(server time.Time) { m.server.Store(&server) }

func (m *machine) read(_ context.Context, elapsed func() time.Duration) (reading, error) {
	defer func() { m.looks <- struct{}{} }()
	if m.broken.Load() {
		return reading{}, errors.New("no network")
	}
	return reading{sent: elapsed(), received: elapsed(), server: *m.server.Load()}, nil
}

// pass lets a bubble's time pass.
func pass(d time.Duration) { <-time.NewTimer(d).C }

func TestClockShowsTheServersTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, c := newMachine(t)
		m.uptime.Add(int64(time.Second))
		got := []any{c.Now(), c.Since(noon), c.Until(noon.Add(time.Minute)), c.Uncertainty()}
		want := []any{noon.Add(time.Second), time.Second, 59 * time.Second, 200*time.Microsecond + resolution}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestStepOfTheWallClockChangesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, c := newMachine(t)
		m.step.Store(int64(-30 * time.Second)) // an operator sets the machine's clock
		if diff := cmp.Diff(noon, c.Now()); diff != "" {
			t.Error(diff)
		}
	})
}

// since is a clock that notes the moment it is asked about.
type since struct {
	clock.Clock
	asked time.Time
}

func (s *since) Since(t time.Time) time.Duration {
	s.asked = t
	return s.Clock.Since(t)
}

// A time loses its monotonic reading easily, and with it what protects from a
// step of the wall clock.
func TestMachinesTimeIsMonotonic(t *testing.T) {
	t.Parallel()
	local := &since{Clock: clock.New()}
	elapsed := monotonic(local)
	if first, second := elapsed(), elapsed(); first < 0 || second < first {
		t.Errorf("went from %v to %v", first, second)
	}
	if !strings.Contains(local.asked.String(), "m=") {
		t.Errorf("counts from %v, which has no monotonic reading", local.asked)
	}
}

func TestClockReadsTheServerEachMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, c := newMachine(t)
		m.set(noon.Add(time.Hour))
		pass(rereadEvery)
		<-m.looks
		c.Close() // waits for the reading to be taken in
		if diff := cmp.Diff(noon.Add(time.Hour), c.Now()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestClockReadsTheServerAfterAReconnect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, c := newMachine(t)
		m.set(noon.Add(time.Hour))
		c.Reconnected()
		<-m.looks
		c.Close()
		if diff := cmp.Diff(noon.Add(time.Hour), c.Now()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestClockGoesOnWithoutTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, c := newMachine(t)
		m.broken.Store(true)
		m.uptime.Add(int64(time.Hour))
		c.Reconnected()
		<-m.looks
		if diff := cmp.Diff(noon.Add(time.Hour), c.Now()); diff != "" {
			t.Error(diff)
		}
		if u := c.Uncertainty(); u < 700*time.Millisecond {
			t.Errorf("after an hour without a reading the uncertainty is only %v", u)
		}
	})
}

func TestReadingThatFailedIsRepeatedSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, c := newMachine(t)
		m.broken.Store(true)
		c.Reconnected()
		<-m.looks
		pass(retryEvery)
		synctest.Wait()
		if n := len(m.looks); n != 1 {
			t.Errorf("the clock was read %d times again", n)
		}
	})
}

func TestClockWithoutAFirstReadingIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &machine{Clock: clock.New(), looks: make(chan struct{}, 1)}
		m.broken.Store(true)
		if _, err := newClock(t.Context(), m, m.elapsed, m.read); err == nil {
			t.Error("a clock that knows nothing was made")
		}
	})
}

// The machine's wall clock is years behind the server's: a deadline that was
// taken as the machine's time would be far in the future.
func TestDeadlinesAreTheServersMoments(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, c := newMachine(t)
		byDeadline, cancel := c.WithDeadline(t.Context(), noon.Add(2*time.Second))
		defer cancel()
		byTimeout, cancel := c.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		pass(time.Second)
		if byDeadline.Err() != nil || byTimeout.Err() != nil {
			t.Error("a context ended early")
		}
		pass(2 * time.Second)
		<-byDeadline.Done()
		<-byTimeout.Done()
	})
}
