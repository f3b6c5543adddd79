package automation_test

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
)

// Two reminders are due, and nobody here serves one of them.
func ExampleScheduler_Health() {
	ctx := context.Background()
	store, clk := open()
	reminders := automation.New(store, notify.New(store, nil), nil)
	reminders.Register(certificate)
	for _, name := range []string{"certificate", "invoice"} {
		_, err := reminders.Ensure(ctx, automation.Candidate{
			Type: name, Source: automation.Source{Type: "employee", ID: "7"}, SendAt: "09:00", Zone: "Europe/Dublin",
			TargetDate: automation.Date{Year: 2026, Month: 5, Day: 1}, DaysBefore: 30,
		})
		if err != nil {
			panic(err)
		}
	}
	clk.Set(time.Date(2026, 4, 1, 10, 30, 0, 0, time.UTC))
	health, err := reminders.Health(ctx)
	fmt.Println(health, err)
	fmt.Println(health.Unserved(), health.OldestDue() > time.Hour)
	// Output:
	// due work at 2026-04-01T10:30:00Z
	//   the oldest has waited for 2h30m0s
	//   due, certificate: 1
	//   due, invoice: 1; not served by this process
	//   nothing waits for a person
	//   leases lost to workers that died or stalled, seen here: 0 <nil>
	// [invoice] true
}

// Reminders stay for a year after they ended. Then they go, and whoever asks for
// one again is told that its moment has passed.
func ExampleUpkeep_Retain() {
	ctx := context.Background()
	store, clk := open()
	reminders := automation.New(store, notify.New(store, nil), nil)
	t := certificate
	t.Retention = automation.Retention{
		After: 365 * 24 * time.Hour,
		Archive: func(_ context.Context, rows []automation.Schedule) error {
			for _, r := range rows {
				fmt.Println("archived", r.Key, r.Status)
			}
			return nil
		},
	}
	reminders.Register(t)
	expires := automation.Candidate{
		Type: "certificate", Source: automation.Source{Type: "employee", ID: "7"},
		TargetDate: automation.Date{Year: 2026, Month: 5, Day: 1}, DaysBefore: 30,
	}
	if _, err := reminders.Ensure(ctx, expires); err != nil {
		panic(err)
	}
	clk.Set(time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC))
	if err := belfry.NewPoller(store, nil, reminders).Drain(ctx); err != nil {
		panic(err)
	}
	clk.Set(time.Date(2027, 4, 2, 9, 0, 0, 0, time.UTC))
	report, err := reminders.Upkeep().Retain(ctx) // a Poller does it once a day
	fmt.Println(report.Deleted, err)
	again, err := reminders.Ensure(ctx, expires)
	fmt.Println(again[0].Outcome, err)
	// Output:
	// archived reminder:certificate:employee:7:default:2026-05-01:30 Completed
	// 1 <nil>
	// OffsetPassed <nil>
}

// Support wants to know what a reminder saw when it was due.
func ExampleSupport_Trace() {
	ctx := context.Background()
	store, clk := open()
	reminders := automation.New(store, notify.New(store, nil), &automation.Options{Traces: &automation.Traces{Keep: 7 * 24 * time.Hour}})
	reminders.Register(certificate)
	got, err := reminders.Ensure(ctx, automation.Candidate{
		Type: "certificate", Source: automation.Source{Type: "employee", ID: "7"},
		TargetDate: automation.Date{Year: 2026, Month: 5, Day: 1}, DaysBefore: 30,
	})
	if err != nil {
		panic(err)
	}
	clk.Set(time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC))
	if _, err := belfry.NewPoller(store, nil, reminders).PollOnce(ctx, 10); err != nil {
		panic(err)
	}
	trace, err := reminders.Support().Trace(ctx, "", got[0].Key)
	fmt.Println(trace.EndedAt, trace.Status, "recipients:", trace.Recipients, err)
	fmt.Println("first", trace.Steps[0].Name, "on", trace.Steps[0].EndedOn)
	// Output:
	// artifacts Completed recipients: 1 <nil>
	// first decode on 2026-04-01 09:00:00 +0000 UTC
}
