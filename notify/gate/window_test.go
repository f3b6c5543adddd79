package gate

import (
	"testing"
	"time"

	"github.com/belfry-go/belfry/reasons"
)

func mustTime(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UTC()
}

func TestTheSendWindowOpensByTheRecipientsClock(t *testing.T) {
	t.Parallel()
	day := Window{From: "08:00", To: "21:00"}
	night := Window{From: "22:00", To: "06:00", Zone: "Europe/Berlin"}
	early := Window{From: "02:30", To: "12:00"}
	gone := Window{From: "02:10", To: "02:40"}
	for name, c := range map[string]struct {
		w         Window
		zone      string
		now, want string // want: empty if the window is open
	}{
		"open":                            {day, "Europe/Berlin", "2026-03-02T12:00:00Z", ""},
		"the first moment":                {day, "Europe/Berlin", "2026-03-02T07:00:00Z", ""},
		"the last moment":                 {day, "Europe/Berlin", "2026-03-02T19:59:59Z", ""},
		"closed in the evening":           {day, "Europe/Berlin", "2026-03-02T20:00:00Z", "2026-03-03T07:00:00Z"},
		"closed in the morning":           {day, "Europe/Berlin", "2026-03-02T06:59:59Z", "2026-03-02T07:00:00Z"},
		"another zone":                    {day, "America/New_York", "2026-03-02T07:00:00Z", "2026-03-02T13:00:00Z"},
		"across the date line":            {day, "Pacific/Auckland", "2026-03-02T08:30:00Z", "2026-03-02T19:00:00Z"},
		"the night before summer time":    {day, "Europe/Berlin", "2026-03-28T20:30:00Z", "2026-03-29T06:00:00Z"},
		"the night before winter time":    {day, "Europe/Berlin", "2026-10-24T19:30:00Z", "2026-10-25T07:00:00Z"},
		"no zone":                         {day, "", "2026-03-02T07:00:00Z", "2026-03-02T08:00:00Z"},
		"a zone that is none":             {day, "Mars/Olympus", "2026-03-02T07:00:00Z", "2026-03-02T08:00:00Z"},
		"past midnight, before it":        {night, "", "2026-03-02T22:30:00Z", ""},
		"past midnight, behind it":        {night, "", "2026-03-03T04:30:00Z", ""},
		"past midnight, by day":           {night, "", "2026-03-03T05:00:00Z", "2026-03-03T21:00:00Z"},
		"a start that does not exist":     {early, "Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z"},
		"a start that comes twice":        {early, "Europe/Berlin", "2026-10-25T00:15:00Z", "2026-10-25T00:30:00Z"},
		"after the first of two starts":   {early, "Europe/Berlin", "2026-10-25T01:10:00Z", ""},
		"a window that does not exist":    {gone, "Europe/Berlin", "2026-03-28T22:00:00Z", "2026-03-30T00:10:00Z"},
		"a day that the zone has no more": {day, "Pacific/Apia", "2011-12-30T09:00:00Z", "2011-12-30T18:00:00Z"},
	} {
		a := attemptOf("id", "sam", mustTime(t, c.now))
		a.Zone = c.zone
		v, err := newWindowGate(c.w).Ask(t.Context(), []Attempt{a})
		if err != nil {
			t.Fatal(name, err)
		}
		if c.want == "" {
			if v[0].Action != ActionProceed {
				t.Errorf("%s: %+v", name, v[0])
			}
			continue
		}
		opens := mustTime(t, c.want)
		if v[0].Reason != reasons.QuietHours || v[0].Until.Before(opens) || v[0].Until.After(opens.Add(10*time.Minute)) {
			t.Errorf("%s: %+v, want %v", name, v[0], opens)
		}
	}
}

func TestUrgentMessagesAndOtherMethodsHaveNoQuietHours(t *testing.T) {
	h := inMemory(t)
	g := newWindowGate(Window{From: "10:00", To: "21:00", Methods: []string{"email"}})
	urgent, sms := attemptOf("a", "sam", h.clk.Now()), attemptOf("b", "sam", h.clk.Now())
	urgent.Urgent, sms.Method = true, "sms"
	h.same("answers", []string{"", "", "Defer " + reasons.QuietHours}, h.answersOf(g, urgent, sms, attemptOf("c", "sam", h.clk.Now())))
}
