package automation_test

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
)

// Every Monday at nine. Only the next occurrence is a row; when it ends the one
// behind it is made.
func ExampleRecurrence() {
	ctx := context.Background()
	store, clk := open() // Sunday, 1 March 2026
	reminders := automation.New(store, notify.New(store, nil), nil)
	t := certificate
	t.Name, t.Template.Subject = "timesheet", "Your hours of the week before {{.Occurrence.LocalDate}}"
	reminders.Register(t)
	weekly := automation.Candidate{
		Type: "timesheet", Source: automation.Source{Type: "employee", ID: "7"}, Zone: "Europe/Dublin",
		Recurrence: &automation.Recurrence{Cron: "0 9 * * MON"},
	}
	poller := belfry.NewPoller(store, nil, reminders)
	for range 3 {
		got, err := reminders.Ensure(ctx, weekly)
		fmt.Println(got[0].Outcome, got[0].Key, err)
		clk.Add(7 * 24 * time.Hour)
		if err := poller.Drain(ctx); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// Created reminder:timesheet:employee:7:default:recurring:2026-03-02T09:00:00Z <nil>
	// Unchanged reminder:timesheet:employee:7:default:recurring:2026-03-09T09:00:00Z <nil>
	// Unchanged reminder:timesheet:employee:7:default:recurring:2026-03-16T09:00:00Z <nil>
}

// On the last Sunday of March the clocks of Dublin jump from one to two.
func ExampleScheduler_Preview() {
	store, clk := open()
	clk.Set(time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC))
	reminders := automation.New(store, notify.New(store, nil), nil)
	reminders.Register(certificate)
	next, err := reminders.Preview(context.Background(), automation.Candidate{
		Type: "certificate", Source: automation.Source{Type: "employee", ID: "7"}, SendAt: "01:30",
		Recurrence: &automation.Recurrence{RRule: "FREQ=DAILY", Start: automation.Date{Year: 2026, Month: 3, Day: 1}},
	}, 3)
	for _, o := range next {
		fmt.Println(o.LocalDate, o.LocalTime, o.On.Format(time.RFC3339), o.Resolution)
	}
	fmt.Println(err)
	// Output:
	// 2026-03-28 01:30 2026-03-28T01:30:00Z exact
	// 2026-03-29 01:30 2026-03-29T01:00:00Z shifted-forward
	// 2026-03-30 01:30 2026-03-30T00:30:00Z exact
	// <nil>
}

// After a week in which nothing ran, only the latest of the daily digests goes
// out.
func ExampleLateness() {
	ctx := context.Background()
	store, clk := open()
	reminders := automation.New(store, notify.New(store, nil), nil)
	t := certificate
	t.Name, t.Lateness = "digest", automation.Lateness{OnlyLatest: true}
	t.Recipients = automation.RecipientFunc(func(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
		fmt.Println("digest of", d.Occurrence.LocalDate)
		return []notify.Recipient{{Ref: "sam", Channel: "email:print", Address: "sam@example.com"}}, nil
	})
	reminders.Register(t)
	_, err := reminders.Ensure(ctx, automation.Candidate{
		Type: "digest", Source: automation.Source{Type: "employee", ID: "7"}, Recurrence: &automation.Recurrence{Cron: "0 9 * * *"},
	})
	clk.Add(7 * 24 * time.Hour)
	poller := belfry.NewPoller(store, nil, reminders)
	fmt.Println(err, poller.Drain(ctx))
	// Output:
	// digest of 2026-03-07
	// <nil> <nil>
}
