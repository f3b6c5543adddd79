package recur

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/teambition/rrule-go"
	"pgregory.net/rapid"

	"github.com/belfry-go/belfry/internal/civil"
)

func day(y int, m time.Month, d int) civil.Date { return civil.Date{Year: y, Month: m, Day: d} }

// times are the next floating times of a rule that begins on Monday, 2 March
// 2026, at nine.
func times(t *testing.T, text string, n int) []string {
	t.Helper()
	c, err := Parse(Spec{RRule: text, Start: day(2026, 3, 2), At: civil.TimeOfDay{Hour: 9}})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	local := time.Time{}
	for range n {
		next, ok := c.After(local)
		if !ok {
			break
		}
		out, local = append(out, next.Format("2006-01-02T15:04")), next
	}
	return out
}

func TestRRules(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"FREQ=DAILY;COUNT=2":                              {"2026-03-02T09:00", "2026-03-03T09:00"},
		"FREQ=DAILY;COUNT=2;":                             {"2026-03-02T09:00", "2026-03-03T09:00"},
		"RRULE:FREQ=MONTHLY;BYMONTHDAY=-1":                {"2026-03-31T09:00", "2026-04-30T09:00", "2026-05-31T09:00"},
		"freq=monthly;byday=-1fr":                         {"2026-03-27T09:00", "2026-04-24T09:00", "2026-05-29T09:00"},
		"FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1":   {"2026-03-31T09:00", "2026-04-30T09:00", "2026-05-29T09:00"},
		"FREQ=WEEKLY;INTERVAL=2":                          {"2026-03-02T09:00", "2026-03-16T09:00", "2026-03-30T09:00"},
		"FREQ=WEEKLY;BYDAY=TU":                            {"2026-03-03T09:00", "2026-03-10T09:00", "2026-03-17T09:00"},
		"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29":             {"2028-02-29T09:00", "2032-02-29T09:00", "2036-02-29T09:00"},
		"FREQ=DAILY;UNTIL=20260303":                       {"2026-03-02T09:00", "2026-03-03T09:00"}, // the whole day
		"FREQ=DAILY;UNTIL=20260303T085959":                {"2026-03-02T09:00"},
		"FREQ=DAILY;BYHOUR=12,8,12;BYMINUTE=0,30;COUNT=3": {"2026-03-02T12:00", "2026-03-02T12:30", "2026-03-03T08:00"}, // those that are twice count once
		"FREQ=HOURLY;INTERVAL=8":                          {"2026-03-02T09:00", "2026-03-02T17:00", "2026-03-03T01:00"},
		"FREQ=HOURLY;INTERVAL=5":                          {"2026-03-02T09:00", "2026-03-02T14:00", "2026-03-02T19:00"},
		"FREQ=HOURLY;INTERVAL=12;BYDAY=TU;COUNT=2":        {"2026-03-03T09:00", "2026-03-03T21:00"},
		"FREQ=MINUTELY;INTERVAL=30;BYDAY=TU":              {"2026-03-03T00:00", "2026-03-03T00:30", "2026-03-03T01:00"},
	} {
		if diff := cmp.Diff(want, times(t, text, 3)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// Weeks by their number, and positions within a week that has begun at the start.
func TestRRulesOfWeeks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		start civil.Date
		want  string
	}{
		{"FREQ=YEARLY;BYWEEKNO=20", day(2026, 5, 11), "2026-05-11 2027-05-17 2028-05-15"},
		{"FREQ=YEARLY;BYWEEKNO=20", day(2026, 5, 15), "2026-05-15 2027-05-21 2028-05-19"},
		{"FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO", day(2026, 1, 1), "2026-12-28 2032-12-27 2037-12-28"},
		{"FREQ=YEARLY;BYWEEKNO=1;BYDAY=MO", day(2026, 1, 1), "2027-01-04 2028-01-03 2029-01-01"},
		{"FREQ=YEARLY;BYWEEKNO=1;BYDAY=MO", day(2018, 1, 8), "2018-12-31 2019-12-30 2021-01-04"},
		{"FREQ=YEARLY;BYWEEKNO=-1;BYDAY=FR", day(2026, 1, 2), "2027-01-01 2027-12-31 2028-12-29"},
		{"FREQ=YEARLY;BYWEEKNO=20;BYMONTHDAY=15", day(2026, 1, 1), "2026-05-15 2028-05-15 2029-05-15"},
		{"FREQ=WEEKLY;BYDAY=MO,TU,WE;BYSETPOS=1", day(2026, 1, 6), "2026-01-12 2026-01-19 2026-01-26"},
		{"FREQ=WEEKLY;BYDAY=MO,TU,WE;BYSETPOS=-1", day(2026, 1, 6), "2026-01-07 2026-01-14 2026-01-21"},
		{"FREQ=WEEKLY;BYDAY=MO,TU,WE;BYSETPOS=1,2;COUNT=2", day(2026, 1, 6), "2026-01-06 2026-01-12"},
		{"FREQ=WEEKLY;BYDAY=MO,SU;BYSETPOS=1;WKST=SU;INTERVAL=2", day(2026, 1, 6), "2026-01-18 2026-02-01 2026-02-15"},
		{"FREQ=WEEKLY;BYSETPOS=1", day(2026, 1, 8), "2026-01-08 2026-01-15 2026-01-22"},
		{"FREQ=WEEKLY;BYDAY=TU;BYHOUR=8,10;BYSETPOS=2", day(2026, 1, 6), "2026-01-06 2026-01-13 2026-01-20"},
		{"FREQ=WEEKLY;BYDAY=TU;BYHOUR=8,10;BYSETPOS=1", day(2026, 1, 6), "2026-01-13 2026-01-20 2026-01-27"},
	} {
		cadence, err := Parse(Spec{RRule: c.text, Start: c.start, At: civil.TimeOfDay{Hour: 9}})
		if err != nil {
			t.Error(err)
			continue
		}
		var got []string
		for local, ok := cadence.After(time.Time{}); ok && len(got) < 3; local, ok = cadence.After(local) {
			got = append(got, local.Format(time.DateOnly))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s from %s: %s", c.text, c.start, diff)
		}
	}
}

// Each of these the library takes, and most of them it answers with a panic, an
// endless loop, or a rule that is not the one written.
func TestRRulesThatAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                  "neither Cron nor RRule is set",
		"FREQ=SECONDLY":                     `RRULE "FREQ=SECONDLY": FREQ=SECONDLY: the shortest interval is a minute`,
		"FREQ=MINUTELY;BYSECOND=0,30":       `RRULE "FREQ=MINUTELY;BYSECOND=0,30": several BYSECOND: the shortest interval is a minute`,
		"FREQ=DAILY;FREQ=WEEKLY":            `RRULE "FREQ=DAILY;FREQ=WEEKLY": FREQ twice`,
		"BYDAY=MO":                          `RRULE "BYDAY=MO": RRULE property FREQ is required`,
		"FREQ=DAILY;;":                      `RRULE "FREQ=DAILY;;": an empty part`,
		"FREQ=DAILY;COUNT=0":                `RRULE "FREQ=DAILY;COUNT=0": COUNT=0`,
		"FREQ=DAILY;COUNT=10001":            `RRULE "FREQ=DAILY;COUNT=10001": COUNT must be 1 to 10000`,
		"FREQ=DAILY;COUNT=2;UNTIL=20270101": `RRULE "FREQ=DAILY;COUNT=2;UNTIL=20270101": COUNT and UNTIL cannot be combined`,
		"FREQ=DAILY;INTERVAL=0":             `RRULE "FREQ=DAILY;INTERVAL=0": INTERVAL=0`,
		"FREQ=DAILY;INTERVAL=9223372036854775807":                                `RRULE "FREQ=DAILY;INTERVAL=9223372036854775807": INTERVAL must be 1 to 10000`,
		"FREQ=DAILY;UNTIL=20260228T000000Z":                                      `RRULE "FREQ=DAILY;UNTIL=20260228T000000Z": UNTIL is before Start`,
		"FREQ=DAILY;UNTIL=20260101":                                              `RRULE "FREQ=DAILY;UNTIL=20260101": UNTIL is before Start`,
		"DTSTART:20260301T090000Z\nRRULE:FREQ=DAILY":                             `RRULE "DTSTART:20260301T090000Z\nRRULE:FREQ=DAILY": give one rule without DTSTART and TZID; Start and the zone are separate fields`,
		"DTSTART=20260301T090000Z;FREQ=DAILY":                                    `RRULE "DTSTART=20260301T090000Z;FREQ=DAILY": give one rule without DTSTART and TZID; Start and the zone are separate fields`,
		"FREQ=YEARLY;BYEASTER=400":                                               `RRULE "FREQ=YEARLY;BYEASTER=400": BYEASTER is not part of RFC 5545`,
		"FREQ=MONTHLY;BYDAY=53MO":                                                `RRULE "FREQ=MONTHLY;BYDAY=53MO": BYDAY=+53MO: months do not have so many`,
		"FREQ=YEARLY;BYMONTH=12;BYDAY=-53MO":                                     `RRULE "FREQ=YEARLY;BYMONTH=12;BYDAY=-53MO": BYDAY=-53MO: months do not have so many`,
		"FREQ=WEEKLY;BYDAY=2MO":                                                  `RRULE "FREQ=WEEKLY;BYDAY=2MO": BYDAY=+2MO: a number needs FREQ=MONTHLY or YEARLY`,
		"FREQ=MONTHLY;BYWEEKNO=3":                                                `RRULE "FREQ=MONTHLY;BYWEEKNO=3": BYWEEKNO needs FREQ=YEARLY`,
		"FREQ=DAILY;BYYEARDAY=3":                                                 `RRULE "FREQ=DAILY;BYYEARDAY=3": BYYEARDAY cannot be combined with FREQ=DAILY`,
		"FREQ=WEEKLY;BYMONTHDAY=3":                                               `RRULE "FREQ=WEEKLY;BYMONTHDAY=3": BYMONTHDAY cannot be combined with FREQ=WEEKLY`,
		"FREQ=HOURLY;BYSETPOS=2":                                                 `RRULE "FREQ=HOURLY;BYSETPOS=2": BYSETPOS cannot be combined with FREQ=HOURLY`,
		"FREQ=MONTHLY;BYMONTHDAY=0":                                              `RRULE "FREQ=MONTHLY;BYMONTHDAY=0": days, weeks and positions must not be zero`,
		"FREQ=HOURLY;INTERVAL=2;BYHOUR=10":                                       `RRULE "FREQ=HOURLY;INTERVAL=2;BYHOUR=10": from 09:00 on the interval never matches BYHOUR and BYMINUTE`,
		"FREQ=MINUTELY;INTERVAL=7;BYDAY=MO":                                      `RRULE "FREQ=MINUTELY;INTERVAL=7;BYDAY=MO": INTERVAL=7 does not divide a day, so it can only be combined with COUNT and UNTIL`,
		"FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=30":                                  `RRULE "FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=30": this day does not exist in any year`,
		"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30":                                    `RRULE FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30 never comes true from 2026-03-02 on`,
		"FREQ=WEEKLY;BYHOUR=0,1,2,3,4,5,6,7,8,9,10;BYMINUTE=0,1,2,3,4,5,6,7,8,9": `RRULE "FREQ=WEEKLY;BYHOUR=0,1,2,3,4,5,6,7,8,9,10;BYMINUTE=0,1,2,3,4,5,6,7,8,9": BYHOUR and BYMINUTE name more than 100 times of day; that needs FREQ=DAILY or shorter`,
		"FREQ=MONTHLY;BYDAY=2MO;BYSETPOS=-4;COUNT=3":                             `RRULE "FREQ=MONTHLY;BYDAY=2MO;BYSETPOS=-4;COUNT=3": it never comes true`,
		"FREQ=MONTHLY;BYDAY=2MO;BYSETPOS=-4":                                     `RRULE FREQ=MONTHLY;BYDAY=2MO;BYSETPOS=-4 never comes true from 2026-03-02 on`,
		"FREQ=WEEKLY;BYDAY=MO,TU;BYSETPOS=3":                                     `RRULE "FREQ=WEEKLY;BYDAY=MO,TU;BYSETPOS=3": BYSETPOS=3: FREQ=WEEKLY has at most 2 here`,
		"FREQ=YEARLY;COUNT=200":                                                  `RRULE "FREQ=YEARLY;COUNT=200": COUNT=200 takes more than 100 years`,
		"FREQ=DAILY;INTERVAL=7;BYDAY=TU":                                         `RRULE FREQ=DAILY;INTERVAL=7;BYDAY=TU never comes true from 2026-03-02 on`,
	} {
		_, err := Parse(Spec{RRule: text, Start: day(2026, 3, 2), At: civil.TimeOfDay{Hour: 9}})
		if err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
	if _, err := Parse(Spec{RRule: "FREQ=DAILY", Start: day(1899, 12, 31)}); err == nil || err.Error() != "first day: 1899-12-31 is before the year 1900" {
		t.Error(err)
	}
}

// FuzzRule holds the bounds for any text: at most 16 MB to check a rule and to ask it.
func FuzzRule(f *testing.F) {
	for _, text := range []string{
		"FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO", "FREQ=DAILY;COUNT=10000", "FREQ=WEEKLY;COUNT=5000", "FREQ=MONTHLY;BYDAY=2MO;BYSETPOS=-4", "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
		"FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYHOUR=0,1,2,3,4,5,6,7,8,9;BYMINUTE=0,1,2,3,4,5,6,7,8,9",
		"FREQ=HOURLY;INTERVAL=2;BYMINUTE=15,45;UNTIL=20991231", "FREQ=MONTHLY;BYDAY=2MO;BYSETPOS=-1",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
		// Of all years 1960 has the longest walk through what never comes.
		if c, err := Parse(Spec{RRule: text, Start: day(1960, 1, 1), At: civil.TimeOfDay{Hour: 9}}); err == nil {
			if next, ok := c.After(now); ok && !next.After(now) {
				t.Errorf("%s after %s", next, now)
			}
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
			t.Errorf("%d bytes were allocated", used)
		}
	})
}

// What is rare, or began long ago, is found without a walk over what lies between.
func TestRulesThatAreRareOrBeganLongAgo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 10, 0, 30, 0, time.UTC)
	for _, c := range []struct {
		start civil.Date
		text  string
		want  string // empty: it has ended
	}{
		{day(1900, 1, 1), "FREQ=MINUTELY", "2026-11-22T10:01:00"},
		{day(1900, 1, 1), "FREQ=MINUTELY;INTERVAL=7", "2026-11-22T10:01:00"},
		{day(1900, 1, 1), "FREQ=HOURLY;BYMINUTE=15,45", "2026-11-22T10:15:00"},
		{day(1900, 1, 1), "FREQ=DAILY", "2026-11-23T09:00:00"},
		{day(1900, 1, 1), "FREQ=WEEKLY;INTERVAL=2", "2026-11-30T09:00:00"},
		{day(1900, 1, 1), "FREQ=MONTHLY", "2026-12-01T09:00:00"},
		{day(1900, 1, 1), "FREQ=YEARLY", "2027-01-01T09:00:00"},
		{day(1900, 1, 1), "FREQ=YEARLY;COUNT=100", ""},
		{day(2026, 1, 1), "FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO", "2044-02-29T00:00:00"},
		{day(2020, 1, 1), "FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=29;UNTIL=20240229", ""},
		{day(2026, 1, 1), "FREQ=MINUTELY;INTERVAL=90;BYDAY=SU", "2026-11-22T10:30:00"},
		{day(2026, 1, 1), "FREQ=MINUTELY;INTERVAL=90;BYDAY=SU;BYSECOND=20", "2026-11-22T10:30:20"},
		{day(1900, 1, 1), "FREQ=MINUTELY;BYHOUR=9;BYMINUTE=0;BYMONTH=2;BYMONTHDAY=29;COUNT=3", ""},
		{day(1900, 1, 1), "FREQ=YEARLY;BYDAY=SU;BYHOUR=7,8,9;BYMINUTE=0,20,40", "2026-11-29T07:00:00"},
		{day(1900, 1, 1), "FREQ=MONTHLY;INTERVAL=5;BYDAY=-1FR", "2027-02-26T09:00:00"},
		{day(2024, 2, 29), "FREQ=YEARLY", "2028-02-29T09:00:00"},
		{day(2026, 1, 1), "FREQ=HOURLY;BYDAY=MO;COUNT=4", "2026-01-05T03:00:00"},
	} {
		cad, err := Parse(Spec{RRule: c.text, Start: c.start, At: civil.TimeOfDay{Hour: 9}})
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		from := now
		if strings.Contains(c.text, "COUNT=4") {
			from = time.Date(2026, 1, 5, 2, 0, 0, 0, time.UTC)
		}
		got := ""
		if next, ok := cad.After(from); ok {
			got = next.Format("2006-01-02T15:04:05")
		}
		if got != c.want {
			t.Errorf("%s from %s on: %q, want %q", c.text, c.start, got, c.want)
		}
	}
}

// A rule is asked from a beginning nearer to the time in question; the answer is
// that of a walk from its first day.
func TestTheBeginningMovesAndTheAnswerStays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := rrule.ROption{
			Freq:     rapid.SampledFrom([]rrule.Frequency{rrule.YEARLY, rrule.MONTHLY, rrule.WEEKLY, rrule.DAILY, rrule.HOURLY, rrule.MINUTELY}).Draw(t, "freq"),
			Interval: rapid.SampledFrom([]int{0, 1, 2, 3, 4, 6, 10, 12, 240}).Draw(t, "interval"),
			Dtstart:  time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 60*24*30).Draw(t, "start")) * time.Minute),
		}
		if o.Freq <= rrule.MONTHLY && rapid.Bool().Draw(t, "names days") {
			o.Bymonthday = rapid.SliceOfNDistinct(rapid.SampledFrom([]int{1, 13, 31, -1}), 1, 2, rapid.ID).Draw(t, "month days")
			o.Bymonth = rapid.SampledFrom([][]int{nil, {1, 12}}).Draw(t, "months")
		}
		if o.Freq <= rrule.DAILY {
			o.Byweekday = rapid.SliceOfNDistinct(rapid.SampledFrom([]rrule.Weekday{rrule.MO, rrule.WE, rrule.SA, rrule.SU}), 0, 2, rapid.ID).Draw(t, "days")
			o.Wkst = rapid.SampledFrom([]rrule.Weekday{rrule.MO, rrule.SU}).Draw(t, "week begins")
			if o.Freq == rrule.WEEKLY && len(o.Byweekday) > 0 {
				o.Bysetpos = rapid.SampledFrom([][]int{nil, {1}, {-1}}).Draw(t, "positions")
			}
		}
		if o.Freq == rrule.DAILY && o.Interval%7 == 0 && o.Interval > 0 {
			o.Byweekday = nil
		}
		if divides := o.Interval <= 12 && o.Interval != 10 || o.Freq == rrule.MINUTELY; o.Freq >= rrule.HOURLY && divides {
			o.Byweekday = rapid.SliceOfNDistinct(rapid.SampledFrom([]rrule.Weekday{rrule.MO, rrule.WE, rrule.SA}), 0, 2, rapid.ID).Draw(t, "days")
			o.Bymonthday = rapid.SliceOfNDistinct(rapid.SampledFrom([]int{1, 13, -1}), 0, 2, rapid.ID).Draw(t, "month days")
			if o.Freq == rrule.HOURLY {
				o.Byminute = rapid.SampledFrom([][]int{nil, {30}, {0, 15, 59}}).Draw(t, "minutes")
			}
			o.Count = rapid.SampledFrom([]int{0, 0, 3, 100}).Draw(t, "count")
		}
		after := o.Dtstart.Add(time.Duration(rapid.IntRange(0, 60*24*map[bool]int{true: 4000, false: 120}[o.Freq <= rrule.MONTHLY]).Draw(t, "after")) * time.Minute)
		endless := o
		endless.Until = lastDay // which the library takes to be in 292 years
		whole, err := rrule.NewRRule(endless)
		if err != nil {
			t.Fatal(err)
		}
		want := whole.After(after, false)
		if got, _ := rruleAfter(o, after); !got.Equal(want) {
			t.Fatalf("%v: got %v, want %v", o.String(), got, want)
		}
	})
}
