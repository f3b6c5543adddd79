package survey

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/belfry-go/belfry/internal/owned"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
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
	i := &instanceRow{NextSendOn: first, RemindersRemaining: len(reminders)}
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
func TestACountBeyondTheScheduleEndsIt(t *testing.T) {
	t.Parallel()
	for _, remaining := range []int{-1, 3} {
		if next, left := advance([]form.Duration{form.Duration(aDay)}, remaining, time.Unix(0, 0)); !next.IsZero() || left != 0 {
			t.Errorf("with %d left the next send is on %v", remaining, next)
		}
	}
}

// When a row is due, and for whom, follows from the row and the grace alone.
func TestWhenARowIsDue(t *testing.T) {
	t.Parallel()
	event := time.Date(2026, 5, 14, 0, 0, 0, 0, time.UTC)
	on := func(days int) time.Time { return event.Add(time.Duration(days) * aDay) }
	const grace = 30 * aDay
	for name, c := range map[string]struct {
		row    instanceRow
		status string
		on     time.Time
		sends  bool
	}{
		"the initial send":                       {instanceRow{NextSendOn: on(2)}, StatusPending, on(2), true},
		"a reminder":                             {instanceRow{NextSendOn: on(60), LastSentOn: on(2)}, StatusSent, on(60), true},
		"a reminder of an opened form":           {instanceRow{NextSendOn: on(3), LastSentOn: on(2)}, StatusOpened, on(3), true},
		"a try that failed":                      {instanceRow{NextSendOn: on(2), NextTryOn: on(3)}, StatusPending, on(3), true},
		"a send put off beyond its grace":        {instanceRow{NextSendOn: on(2), NextTryOn: on(40)}, StatusPending, on(32), false},
		"a send beyond the absolute limit":       {instanceRow{NextSendOn: on(5), ExpiresOn: on(4)}, StatusPending, on(4), false},
		"after the last send":                    {instanceRow{LastSentOn: on(4), StoppedOn: on(4)}, StatusSent, on(34), false},
		"after a reminder that failed for good":  {instanceRow{LastSentOn: on(4), StoppedOn: on(10)}, StatusSent, on(34), false},
		"never sent":                             {instanceRow{StoppedOn: on(1)}, StatusPending, on(30), false},
		"never sent, stopped late":               {instanceRow{StoppedOn: on(61)}, StatusPending, on(61), false},
		"the absolute limit after the last send": {instanceRow{LastSentOn: on(4), StoppedOn: on(4), ExpiresOn: on(9)}, StatusSent, on(9), false},
		"its message is on its way":              {instanceRow{NextSendOn: on(2), Queued: true}, StatusPending, on(32), false},
		"on hold":                                {instanceRow{NextSendOn: on(2), IsOnSupportHold: true}, StatusPending, time.Time{}, false},
		"completed":                              {instanceRow{NextSendOn: on(2)}, StatusCompleted, time.Time{}, false},
		"expired":                                {instanceRow{LastSentOn: on(2)}, StatusExpired, time.Time{}, false},
		"deleted":                                {instanceRow{NextSendOn: on(2), DeletedOn: on(1)}, StatusPending, time.Time{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := c.row
			r.Record, r.Channel, r.TriggeredOn = storage.Record{Status: c.status}, "c", event
			if on, sends := r.due(grace); !on.Equal(c.on) || sends != c.sends {
				t.Errorf("due on %v, for a send: %v, want %v, %v", on, sends, c.on, c.sends)
			}
		})
	}
}

// I-16: a transition that is not in the table is a programmer's error.
func TestI16_NothingLeavesAnEnd(t *testing.T) {
	t.Parallel()
	for _, end := range machine.Terminal {
		for name, leave := range map[string]func(*instanceRow){
			"expire": func(i *instanceRow) { i.expire(time.Unix(1, 0)) },
			"become": func(i *instanceRow) { i.become(StatusSent) },
		} {
			t.Run(end+" "+name, func(t *testing.T) {
				t.Parallel()
				i := &instanceRow{Due: driver.Due{Record: storage.Record{Status: end}}}
				defer func() {
					if recover() == nil && i.Status != end {
						t.Errorf("it is %s now", i.Status)
					}
				}()
				leave(i)
			})
		}
	}
}

// sentLink is a link whose present send is a message that has not ended, and its message.
func sentLink(status string) (*sending, owned.Message) {
	at := time.Unix(1000, 0)
	i := &instanceRow{Due: driver.Due{Record: storage.Record{Status: status}}, PublicID: "p", Channel: "c", NextSendOn: at, RemindersRemaining: 1, Queued: true, Attempts: 1}
	t := &form.Trigger{Schedule: form.Schedule{Reminders: []form.Duration{form.Duration(aDay)}}}
	return &sending{Item: work.Item[instanceRow]{Row: i}, trigger: t}, owned.Message{Key: i.messageKey(), MessageID: "m", Calls: 1}
}

// The beacon of an opened form comes while the channel is called: the form stays
// opened, and keeps its reminders.
func TestACallUnderWayDoesNotUndoABeacon(t *testing.T) {
	t.Parallel()
	it, m := sentLink(StatusOpened)
	m.Sent, m.SentOn = true, time.Unix(1000, 0)
	it.take(m.SentOn, m)
	if r := it.Row; r.Status != StatusOpened || !r.NextSendOn.Equal(m.SentOn.Add(aDay)) || r.SendOrdinal != 1 || r.Queued {
		t.Errorf("the row is %+v", r)
	}
}

// What becomes of a message is told several times, and late: the link goes on once.
func TestALinkTakesTheEndOfItsMessageOnce(t *testing.T) {
	t.Parallel()
	it, m := sentLink(StatusPending)
	m.Sent, m.SentOn = true, time.Unix(1000, 0)
	it.take(m.SentOn, m)
	want := it.Row.progress()
	for _, again := range []owned.Message{
		m, {Key: m.Key, Calls: 1, Status: notify.StatusFailedFinal, ReasonCode: "550"}, {Key: m.Key, Calls: 1, InDoubt: true}, {Key: m.Key, Waits: true},
	} {
		if it.take(m.SentOn.Add(time.Hour), again); it.Row.progress() != want {
			t.Errorf("%+v made of it %+v", again, it.Row.progress())
		}
	}
	if it.Row.FirstMessage != "m" || it.Row.Calls != 1 {
		t.Errorf("the row is %+v", it.Row)
	}
}

// Every field of what a host gets is that of the row: none is forgotten.
func TestWhatAHostGetsIsTheRow(t *testing.T) {
	t.Parallel()
	instance := filled[instanceRow](t)
	same(t, instance, instance.view())
	entry := filled[deliveryRow](t)
	view := entry.view()
	if view.Channel != entry.Kind {
		t.Errorf("the channel is %q, not %q", view.Channel, entry.Kind)
	}
	same(t, entry, view, "Channel")
}

// filled is a row with something in every field.
func filled[R any](t *testing.T) *R {
	t.Helper()
	row := new(R)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[R]()) {
		switch at := reflect.ValueOf(row).Elem().FieldByIndex(f.Index); at.Interface().(type) {
		case string, Scope, json.RawMessage:
			at.Set(reflect.ValueOf(f.Name).Convert(at.Type()))
		case int, int16, int64:
			at.SetInt(int64(len(f.Name)))
		case bool:
			at.SetBool(true)
		case time.Time:
			at.Set(reflect.ValueOf(time.Unix(int64(len(f.Name)), 0)))
		}
	}
	return row
}

func same(t *testing.T, row, view any, but ...string) {
	t.Helper()
	of, in := reflect.ValueOf(view), reflect.ValueOf(row).Elem()
	for _, f := range reflect.VisibleFields(of.Type()) {
		if got := of.FieldByIndex(f.Index); !slices.Contains(but, f.Name) && (got.IsZero() || !reflect.DeepEqual(got.Interface(), in.FieldByName(f.Name).Interface())) {
			t.Errorf("%s is %v", f.Name, got)
		}
	}
}
