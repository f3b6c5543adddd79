package keys_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/keys"
)

func ExampleReminder() {
	fmt.Println(keys.Reminder{
		Setting: "first-aid", SourceType: "employee", Source: "7", TriggerKey: "default",
		TargetDate: "2026-05-01", OffsetDays: 30,
	}.Key())
	// Output: reminder:first-aid:employee:7:default:2026-05-01:30 <nil>
}

// A reminder two weeks after an invoice was due has a negative offset.
func ExampleReminder_daysAfter() {
	fmt.Println(keys.Reminder{
		Setting: "overdue", SourceType: "invoice", Source: "2026-118", TriggerKey: "default",
		TargetDate: "2026-05-01", OffsetDays: -14,
	}.Key())
	// Output: reminder:overdue:invoice:2026-118:default:2026-05-01:-14 <nil>
}

func ExampleThreshold() {
	value, scopeKey, err := keys.Firing{
		Policy: keys.OncePerDay, Value: "0.90", Scope: "room-1", LocalDate: "2026-03-01",
	}.Parts()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(keys.Threshold{
		Setting: "nearly-full", SourceType: "class", Source: "7", TriggerKey: "default",
		Metric: "occupancy", Value: value, Policy: keys.OncePerDay, ScopeKey: scopeKey,
	}.Key())
	// Output: reminder:nearly-full:class:7:default:threshold:occupancy:0.9:OncePerDay:room-1@2026-03-01 <nil>
}

func ExampleFiring_Parts() {
	f := keys.Firing{Value: "0.90", Scope: "room-1", LocalDate: "2026-03-01", Rises: 3}
	for _, f.Policy = range []keys.FiringPolicy{keys.OncePerSource, keys.OncePerThreshold, keys.OncePerDay, keys.FalseToTrue} {
		value, scopeKey, err := f.Parts()
		fmt.Println(f.Policy, value, scopeKey, err)
	}
	// Output:
	// OncePerSource any source <nil>
	// OncePerThreshold 0.9 room-1 <nil>
	// OncePerDay 0.9 room-1@2026-03-01 <nil>
	// FalseToTrue 0.9 room-1@3 <nil>
}

func ExampleDecimal() {
	for _, s := range []string{"0.90", ".9", "9e-1", "-0", "NaN"} {
		fmt.Println(keys.Decimal(s))
	}
	// Output:
	// 0.9 <nil>
	// 0.9 <nil>
	// 0.9 <nil>
	// 0 <nil>
	//  keys: decimal "NaN": is not a decimal number
}

func ExampleRecurring() {
	fmt.Println(keys.Recurring{
		Setting: "timesheet", SourceType: "team", Source: "3", TriggerKey: "weekly",
		Occurrence: time.Date(2026, 3, 1, 8, 0, 0, 0, time.FixedZone("CET", 3600)),
	}.Key())
	// Output: reminder:timesheet:team:3:weekly:recurring:2026-03-01T07:00:00Z <nil>
}

func ExampleInstant() {
	fmt.Println(keys.Instant{
		Setting: "lesson", SourceType: "lesson", Source: "7", TriggerKey: "default",
		Start: time.Date(2026, 3, 1, 16, 30, 0, 0, time.FixedZone("CET", 3600)), Before: 90 * time.Minute,
	}.Key())
	// Output: reminder:lesson:lesson:7:default:instant:2026-03-01T15:30:00Z:1h30m <nil>
}

func ExampleReportRun() {
	fmt.Println(keys.ReportRun{Subscription: "6f1c", On: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}.Key())
	// Output: report-subscription:6f1c:scheduled:2026-03-01T00:00:00Z <nil>
}

func ExampleManualReportRun() {
	fmt.Println(keys.ManualReportRun{Subscription: "6f1c", Run: "0d4e"}.Key())
	// Output: report-subscription:6f1c:manual:0d4e <nil>
}

func ExampleHost() {
	fmt.Println(keys.Host{Type: "backup", SourceType: "server", Source: "eu-1", TriggerKey: "2026-03-01"}.Key())
	// Output: host:backup:server:eu-1:2026-03-01 <nil>
}

func ExampleParse() {
	parsed, err := keys.Parse("reminder:first-aid:employee:7:default:2026-05-01:30")
	if err != nil {
		fmt.Println(err)
		return
	}
	switch k := parsed.(type) {
	case keys.Reminder:
		fmt.Println(k.Source, k.TargetDate, k.OffsetDays)
	default:
		fmt.Printf("%T\n", k)
	}
	// Output: 7 2026-05-01 30
}

func ExamplePartError() {
	_, err := keys.Host{Type: "backup", SourceType: "server", Source: "eu:1", TriggerKey: "nightly"}.Key()
	var refused *keys.PartError
	fmt.Println(errors.As(err, &refused), refused.Part)
	fmt.Println(err)
	// Output:
	// true source
	// keys: host: source: holds ':' at byte 2
}

func ExampleInput_Hash() {
	in := keys.Input{
		SourceType: "employee", Source: "7", Setting: "first-aid", TriggerType: "DateBased", TriggerKey: "default",
		TargetDate: "2026-05-01", OffsetDays: 30, Identity: map[string]string{"course": "level 2"},
	}
	before := in.Hash()
	in.Identity["course"] = "level 3"
	fmt.Println(len(before), before == in.Hash())
	// Output: 64 false
}

func ExampleSum() {
	fmt.Println(keys.Sum("ab", "c") == keys.Sum("a", "bc"))
	fmt.Printf("%x\n", keys.Sum("ab", "c"))
	// Output:
	// false
	// 601d5476e2ccfe2c87a2bba7a322659734a05749d5b5aa781f513e4912db0d5f
}
