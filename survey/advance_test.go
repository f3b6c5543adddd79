package survey

import (
	"testing"
	"time"

	"github.com/belfry-go/belfry/survey/form"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const aDay = 24 * time.Hour

// step is one send of a schedule.
type step struct {
	On                time.Time // when it was sent
	RemainingBefore   int
	Next              time.Time
	RemainingAfter    int
	Ordinal, Sends    int
	StatusAfter       string
	StoppedAfterwards bool
}

// walk makes every send of a schedule on time.
func walk(reminders []form.Duration, first time.Time) (steps []step) {
	i := &Instance{NextSendOn: first, RemindersRemaining: len(reminders)}
	i.Status = StatusPending
	for !i.NextSendOn.IsZero() && len(steps) <= len(reminders)+1 {
		s := step{On: i.NextSendOn, RemainingBefore: i.RemindersRemaining, Ordinal: i.SendOrdinal}
		i.sent(i.NextSendOn, reminders)
		s.Next, s.RemainingAfter, s.Sends = i.NextSendOn, i.RemindersRemaining, i.SendOrdinal
		s.StatusAfter, s.StoppedAfterwards = i.Status, !i.StoppedOn.IsZero()
		steps = append(steps, s)
	}
	return steps
}

// The document's table of the standard cadence for new vehicles: 60 days, then
// reminders after 5, 10 and 15 days.
//
//spec:t-038
func TestTheArithmeticOfTheLongSchedule(t *testing.T) {
	t.Parallel()
	event := time.Date(2026, 5, 14, 5, 12, 34, 0, time.UTC)
	on := func(days int) time.Time { return event.Add(time.Duration(days) * aDay) }
	want := []step{
		{on(60), 3, on(65), 2, 0, 1, StatusSent, false},
		{on(65), 2, on(75), 1, 1, 2, StatusSent, false},
		{on(75), 1, on(90), 0, 2, 3, StatusSent, false},
		{on(90), 0, time.Time{}, 0, 3, 4, StatusSent, true},
	}
	reminders := []form.Duration{form.Duration(5 * aDay), form.Duration(10 * aDay), form.Duration(15 * aDay)}
	if diff := cmp.Diff(want, walk(reminders, on(60))); diff != "" {
		t.Error(diff)
	}
}

// The same arithmetic for any list of reminders, zero included: one send more than
// reminders, each after its own delay, counted down to none.
//
//spec:t-036
func TestTheArithmeticOfAnySchedule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var reminders []form.Duration
		for _, hours := range rapid.SliceOfN(rapid.IntRange(0, 24*400), 0, 12).Draw(t, "reminders") {
			reminders = append(reminders, form.Duration(time.Duration(hours)*time.Hour))
		}
		first := time.Date(2026, 5, 14, 5, 12, 34, 0, time.UTC)
		steps := walk(reminders, first)
		if len(steps) != len(reminders)+1 {
			t.Fatalf("%d sends for %d reminders", len(steps), len(reminders))
		}
		on := first
		for n, s := range steps {
			if !s.On.Equal(on) || s.Ordinal != n || s.RemainingBefore != len(reminders)-n {
				t.Fatalf("send %d is %+v, want it on %v", n, s, on)
			}
			if last := n == len(reminders); last != s.Next.IsZero() || last != s.StoppedAfterwards {
				t.Fatalf("send %d of %d: %+v", n, len(steps), s)
			}
			if n < len(reminders) {
				on = on.Add(time.Duration(reminders[n]))
			}
		}
	})
}

// A count that fits no schedule ends it, rather than panic or send for ever.
//
//spec:t-036
func TestACountBeyondTheScheduleEndsIt(t *testing.T) {
	t.Parallel()
	for _, remaining := range []int{-1, 3} {
		if next, left := advance([]form.Duration{form.Duration(aDay)}, remaining, time.Unix(0, 0)); !next.IsZero() || left != 0 {
			t.Errorf("with %d left the next send is on %v", remaining, next)
		}
	}
}
