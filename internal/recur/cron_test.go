package recur

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/civil"
)

func TestCrons(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0 9 * * *":                  "2026-03-01T09:00 2026-03-02T09:00 2026-03-03T09:00",
		"@daily":                     "2026-03-01T00:00 2026-03-02T00:00 2026-03-03T00:00",
		" */20  8-9 * mar  mon-fri ": "2026-03-02T08:00 2026-03-02T08:20 2026-03-02T08:40",
		"0 9 13 * 5":                 "2026-03-06T09:00 2026-03-13T09:00 2026-03-20T09:00", // the 13th or a Friday
		"0 9 13 * */5":               "2026-03-13T09:00 2026-09-13T09:00 2026-11-13T09:00", // the 13th and a Sunday or Friday
		"0 9 * * 7":                  "2026-03-01T09:00 2026-03-08T09:00 2026-03-15T09:00",
		"0 9 L * *":                  "2026-03-31T09:00 2026-04-30T09:00 2026-05-31T09:00",
		"0 9 15W * *":                "2026-03-16T09:00 2026-04-15T09:00 2026-05-15T09:00",
		"0 9 * * MON#1":              "2026-03-02T09:00 2026-04-06T09:00 2026-05-04T09:00",
		"0 9 * * 5L":                 "2026-03-27T09:00 2026-04-24T09:00 2026-05-29T09:00",
		"0 9 31 * *":                 "2026-03-31T09:00 2026-05-31T09:00 2026-07-31T09:00",
		"0 0 29 2 *":                 "2028-02-29T00:00 2032-02-29T00:00 2036-02-29T00:00",
	} {
		c, err := Parse(Spec{Cron: text, Start: day(2026, 3, 1)})
		if err != nil {
			t.Error(err)
			continue
		}
		var got []string
		for local := (time.Time{}); len(got) < 3; {
			local, _ = c.After(local)
			got = append(got, local.Format("2006-01-02T15:04"))
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestCronsThatAreRefused(t *testing.T) {
	t.Parallel()
	const fields = "want 5: minute, hour, day of month, month, day of week (no seconds, no years)"
	for text, want := range map[string]string{
		"0 9 * *":           `cron "0 9 * *": 4 fields, ` + fields,
		"0 0 9 * * *":       `cron "0 0 9 * * *": 6 fields, ` + fields,
		"0 9 * * * 2027":    `cron "0 9 * * * 2027": 6 fields, ` + fields,
		"@every 5m":         `cron "@every 5m": must be one of @yearly, @annually, @monthly, @weekly, @daily, @hourly, or five fields`,
		"@5minutes":         `cron "@5minutes": must be one of @yearly, @annually, @monthly, @weekly, @daily, @hourly, or five fields`,
		"0,99 9 * * *":      `cron "0,99 9 * * *": minute: 99 must be 0 to 59`, // the library takes it when 0 is due
		"*,5 9 * * *":       `cron "*,5 9 * * *": minute: a list must not contain a star`,
		"MON 9 * * *":       `cron "MON 9 * * *": minute: MON must be 0 to 59`,
		"0 24 * * *":        `cron "0 24 * * *": hour: 24 must be 0 to 23`,
		"0 9 0 * *":         `cron "0 9 0 * *": day of month: 0 must be 1 to 31`,
		"0 9 32W * *":       `cron "0 9 32W * *": day of month: 32W must be 1 to 31`,
		"0 9 ? * 1":         `cron "0 9 ? * 1": day of month: "?" is not a number, range or step`,
		"*/0 9 * * *":       `cron "*/0 9 * * *": minute: the step 0 must be 1 to 59`,
		"30-10 9 * * *":     `cron "30-10 9 * * *": minute: the range 30-10 runs backwards`,
		"0 9 * * MON#6":     `cron "0 9 * * MON#6": day of week: "MON#6" is not a number, range or step`,
		"0 9 30 2 *":        `cron 0 9 30 2 * never comes true`,
		"0 9 31 4,6,9,11 *": `cron 0 9 31 4,6,9,11 * never comes true`,
	} {
		if _, err := Parse(Spec{Cron: text}); err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
	long := Spec{Cron: strings.Repeat("0", 600)}
	if _, err := Parse(long); err == nil || err.Error() != "cron: longer than 500 bytes" {
		t.Error(err)
	}
}

func TestSpecsThatAreRefused(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]Spec{
		"both Cron and RRule are set; set one of them":                   {Cron: "@daily", RRule: "FREQ=DAILY", Start: day(2026, 3, 1)},
		"a Start is required with RRule, which counts from it":           {RRule: "FREQ=DAILY"},
		"first day: date 2026-02-30 does not exist":                      {Cron: "@daily", Start: day(2026, 2, 30)},
		"last day: date 2026-02-30 does not exist":                       {Cron: "@daily", End: day(2026, 2, 30)},
		"the last day 2026-02-01 is before the first day 2026-03-01":     {Cron: "@daily", Start: day(2026, 3, 1), End: day(2026, 2, 1)},
		"cron 0 9 29 2 * never comes true from 2026-01-01 to 2027-12-31": {Cron: "0 9 29 2 *", Start: day(2026, 1, 1), End: day(2027, 12, 31)},
		"time of day 25:00 does not exist":                               {RRule: "FREQ=DAILY", Start: day(2026, 3, 1), At: civil.TimeOfDay{Hour: 25}},
	} {
		if _, err := Parse(s); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestFirstAndLastDayBelongToIt(t *testing.T) {
	t.Parallel()
	c, err := Parse(Spec{Cron: "0 0,23 * * *", Start: day(2026, 3, 1), End: day(2026, 3, 2)})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for local, ok := c.After(time.Time{}); ok; local, ok = c.After(local) {
		got = append(got, local.Format("02T15"))
	}
	if diff := cmp.Diff("01T00 01T23 02T00 02T23", strings.Join(got, " ")); diff != "" {
		t.Error(diff)
	}
}
