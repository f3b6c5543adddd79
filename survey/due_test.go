package survey

import (
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// When a row is due, and for whom, follows from the row and the grace alone.
//
//spec:t-034 t-041
func TestWhenARowIsDue(t *testing.T) {
	t.Parallel()
	event := time.Date(2026, 5, 14, 0, 0, 0, 0, time.UTC)
	on := func(days int) time.Time { return event.Add(time.Duration(days) * aDay) }
	const grace = 30 * aDay
	for name, c := range map[string]struct {
		row     Instance
		status  string
		on      time.Time
		channel string
	}{
		"the initial send":                       {Instance{NextSendOn: on(2)}, StatusPending, on(2), "c"},
		"a reminder":                             {Instance{NextSendOn: on(60), LastSentOn: on(2)}, StatusSent, on(60), "c"},
		"a reminder of an opened form":           {Instance{NextSendOn: on(3), LastSentOn: on(2)}, StatusOpened, on(3), "c"},
		"a try that failed":                      {Instance{NextSendOn: on(2), NextTryOn: on(3)}, StatusPending, on(3), "c"},
		"a send put off beyond its grace":        {Instance{NextSendOn: on(2), NextTryOn: on(40)}, StatusPending, on(32), ""},
		"a send beyond the absolute limit":       {Instance{NextSendOn: on(5), ExpiresOn: on(4)}, StatusPending, on(4), ""},
		"after the last send":                    {Instance{LastSentOn: on(4), StoppedOn: on(4)}, StatusSent, on(34), ""},
		"after a reminder that failed for good":  {Instance{LastSentOn: on(4), StoppedOn: on(10)}, StatusSent, on(34), ""},
		"never sent":                             {Instance{StoppedOn: on(1)}, StatusPending, on(30), ""},
		"never sent, stopped late":               {Instance{StoppedOn: on(61)}, StatusPending, on(61), ""},
		"the absolute limit after the last send": {Instance{LastSentOn: on(4), StoppedOn: on(4), ExpiresOn: on(9)}, StatusSent, on(9), ""},
		"on hold":                                {Instance{NextSendOn: on(2), IsOnSupportHold: true}, StatusPending, time.Time{}, ""},
		"completed":                              {Instance{NextSendOn: on(2)}, StatusCompleted, time.Time{}, ""},
		"expired":                                {Instance{LastSentOn: on(2)}, StatusExpired, time.Time{}, ""},
		"deleted":                                {Instance{NextSendOn: on(2), DeletedOn: on(1)}, StatusPending, time.Time{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := c.row
			r.Record, r.Channel, r.TriggeredOn = storage.Record{Status: c.status}, "c", event
			if on, channel := r.due(grace); !on.Equal(c.on) || channel != c.channel {
				t.Errorf("due on %v for %q, want %v for %q", on, channel, c.on, c.channel)
			}
		})
	}
}
