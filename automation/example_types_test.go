package automation_test

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
)

// Every Monday at nine. Only the next occurrence is a row; when it ends the one
// behind it is made.
func ExampleRecurrence() {
	ctx := context.Background()
	store, clk := open() // Sunday, 1 March 2026
	out := notify.New(store, nil)
	reminders := automation.New(store, out, nil)
	t := certificate
	t.Name, t.Template.Subject = "timesheet", "Your hours of the week before {{.Occurrence.LocalDate}}"
	reminders.Register(t)
	weekly := automation.Candidate{
		Type: "timesheet", Source: automation.Source{Type: "employee", ID: "7"}, Zone: "Europe/Dublin",
		Recurrence: &automation.Recurrence{Cron: "0 9 * * MON"},
	}
	poller := belfry.NewPoller(store, nil, reminders, out)
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

// A lesson moves by half an hour, and its reminder with it. "24 hours before" is not
// said at once about a lesson of today.
func ExampleCandidate_instant() {
	ctx := context.Background()
	store, _ := open() // 1 March 2026, 08:00 UTC
	reminders := automation.New(store, notify.New(store, nil), nil)
	t := certificate
	t.Name, t.SourceType, t.Template.Subject = "lesson", "lesson", "Your lesson begins at {{.At.LocalTime}}"
	lessons := reminders.Register(t)
	start := time.Date(2026, 3, 1, 16, 0, 0, 0, time.UTC)
	for range 2 {
		got, err := lessons.Set(ctx, automation.About{ID: "7"}, automation.Before(start, 24*time.Hour), automation.Before(start, 2*time.Hour))
		fmt.Println(got.Ensured[0].Outcome, got.Ensured[1].Outcome, got.Ensured[1].Key, len(got.Deactivated), err)
		start = start.Add(30 * time.Minute)
	}
	// Output:
	// OffsetPassed Created reminder:lesson:lesson:7:default:instant:2026-03-01T16:00:00Z:2h 0 <nil>
	// OffsetPassed Created reminder:lesson:lesson:7:default:instant:2026-03-01T16:30:00Z:2h 1 <nil>
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
	out := notify.New(store, nil)
	reminders := automation.New(store, out, nil)
	t := certificate
	t.Name, t.Lateness = "digest", automation.Lateness{OnlyLatest: true}
	t.Recipients = automation.RecipientFunc(func(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
		fmt.Println("digest of", d.Occurrence.LocalDate)
		return []notify.Recipient{{Ref: "sam", Channel: "email:print", Address: "sam@example.com"}}, nil
	})
	_, err := reminders.Register(t).Set(ctx, automation.About{ID: "7"}, automation.Cron("0 9 * * *"))
	clk.Add(7 * 24 * time.Hour)
	poller := belfry.NewPoller(store, nil, reminders, out)
	fmt.Println(err, poller.Drain(ctx))
	// Output:
	// digest of 2026-03-07
	// <nil> <nil>
}

// The course was cancelled before its reminder was due: an outcome, no failure.
func ExampleNoLongerValid() {
	ctx := context.Background()
	store, clk := open()
	cancelled := map[string]bool{"7": true}
	out := notify.New(store, nil)
	reminders := automation.New(store, out, nil)
	t := certificate
	t.Validator = automation.ValidatorFunc(func(_ context.Context, d automation.Due) (automation.Validity, error) {
		if cancelled[d.Source.ID] {
			return automation.NoLongerValid("CourseCancelled"), nil
		}
		return automation.StillValid(), nil
	})
	got, err := reminders.Register(t).Set(ctx, automation.About{ID: "7", SourceType: "course"}, automation.DaysBefore(automation.Date{Year: 2026, Month: 5, Day: 1}, 30))
	if err != nil {
		panic(err)
	}
	clk.Set(time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC))
	if err := belfry.NewPoller(store, nil, reminders, out).Drain(ctx); err != nil {
		panic(err)
	}
	story, err := reminders.Explain(ctx, "", got.Ensured[0].Key)
	fmt.Println(story.Schedule.Status, story.Schedule.ReasonCode, story.Schedule.RetryCount, err)
	// Output: Deactivated CourseCancelled 0 <nil>
}

// expiring are candidates of three employees.
func expiring() (out []automation.Candidate) {
	for _, id := range []string{"7", "8", "9"} {
		out = append(out, automation.Candidate{
			Type: "certificate", Source: automation.Source{Type: "employee", ID: id},
			TargetDate: automation.Date{Year: 2026, Month: 5, Day: 1}, DaysBefore: 30,
		})
	}
	return out
}

var support = automation.By{Actor: "sam", Reason: "the courses were moved"}

// Support looks at what it would do, and does it.
func ExampleSupport_Bulk() {
	ctx := context.Background()
	store, _ := open()
	reminders := automation.New(store, notify.New(store, nil), nil)
	reminders.Register(certificate)
	got, err := reminders.Ensure(ctx, expiring()...)
	if err != nil {
		panic(err)
	}
	fmt.Println(reminders.Support().Hold(ctx, "", got[1].Key, support))
	selection := automation.Selection{Setting: "certificate"}
	for _, dryRun := range []bool{true, false} {
		report, err := reminders.Support().Bulk(ctx, "", automation.ActionHold, selection, support, &automation.ActionOptions{DryRun: dryRun})
		fmt.Println("dry run:", report.DryRun, "changed:", report.Changed, "refused:", report.Refused, err)
		for _, row := range report.Rows {
			if row.Refused != "" {
				fmt.Println(row.Key, row.Refused)
			}
		}
	}
	// Output:
	// <nil>
	// dry run: true changed: 2 refused: 1 <nil>
	// reminder:certificate:employee:8:default:2026-05-01:30 it is on hold already
	// dry run: false changed: 2 refused: 1 <nil>
	// reminder:certificate:employee:8:default:2026-05-01:30 it is on hold already
}

// Nothing of a type is begun while it is paused.
func ExampleSupport_Pause() {
	ctx := context.Background()
	store, clk := open()
	out := notify.New(store, nil, channel.Func("email:print", func(context.Context, channel.Message) (channel.Receipt, error) {
		fmt.Println("sent on", clk.Now().Format(time.DateTime))
		return channel.Receipt{ID: "1"}, nil
	}))
	reminders := automation.New(store, out, nil)
	reminders.Register(certificate)
	if _, err := reminders.Ensure(ctx, expiring()[0]); err != nil {
		panic(err)
	}
	clk.Set(time.Date(2026, 4, 1, 10, 0, 0, 0, time.UTC))
	until := clk.Now().Add(2 * time.Hour)
	fmt.Println(reminders.Support().Pause(ctx, automation.Extent{Everywhere: true, Type: "certificate"}, until, support))
	poller := belfry.NewPoller(store, nil, reminders, out)
	fmt.Println("drained:", poller.Drain(ctx))
	pauses, err := reminders.Support().Pauses(ctx, "")
	for _, p := range pauses {
		fmt.Println(p.Type, "by", p.By.Actor, "until", p.Until.Format(time.DateTime), err)
	}
	clk.Set(until) // or Resume
	fmt.Println("drained:", poller.Drain(ctx))
	// Output:
	// <nil>
	// drained: <nil>
	// certificate by sam until 2026-04-01 12:00:00 <nil>
	// sent on 2026-04-01 12:00:00
	// drained: <nil>
}

// The mail was lost: support has the reminder sent once more. A second click
// sends nothing.
func ExampleSupport_Rerun() {
	ctx := context.Background()
	store, clk := open()
	out := notify.New(store, nil, channel.Func("email:print", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		fmt.Println(m.To, "-", m.Subject)
		return channel.Receipt{ID: "1"}, nil
	}))
	reminders := automation.New(store, out, nil)
	reminders.Register(certificate)
	got, err := reminders.Ensure(ctx, expiring()[0])
	if err != nil {
		panic(err)
	}
	poller := belfry.NewPoller(store, nil, reminders, out)
	clk.Set(time.Date(2026, 4, 1, 10, 0, 0, 0, time.UTC))
	fmt.Println(poller.Drain(ctx))
	for range 2 {
		again, err := reminders.Support().Rerun(ctx, "", got[0].Key, automation.By{Actor: "sam", Reason: "the mail was lost"})
		fmt.Println(again.Outcome, again.Key, err)
	}
	fmt.Println(poller.Drain(ctx))
	story, err := reminders.Explain(ctx, "", got[0].Key)
	for _, t := range story.History {
		fmt.Println(t)
	}
	runs, _, _ := reminders.Support().History(ctx, "", automation.Source{Type: "employee", ID: "7"}, storage.Page{})
	fmt.Println("runs:", len(runs), err)
	// Output:
	// sam@example.com - Your certificate expires on 2026-05-01
	// <nil>
	// Created reminder:certificate:employee:7:default~1:2026-05-01:30 <nil>
	// Unchanged reminder:certificate:employee:7:default~1:2026-05-01:30 <nil>
	// sam@example.com - Your certificate expires on 2026-05-01
	// <nil>
	// 2026-03-01T08:00:00Z: Created by host
	// 2026-04-01T10:00:00Z: Completed by due pass (Processing to Completed)
	// 2026-04-01T10:00:00Z: Rerun by sam: the mail was lost
	// runs: 2 <nil>
}

// Why is there no reminder?
func ExampleScheduler_ExplainMissing() {
	ctx := context.Background()
	store, _ := open()
	reminders := automation.New(store, notify.New(store, nil), nil)
	t := certificate
	t.Triggers = expiries{"7": {Year: 2026, Month: 3, Day: 29}}
	reminders.Register(t)
	absence, err := reminders.ExplainMissing(ctx, "", "certificate", automation.Source{Type: "employee", ID: "7"})
	fmt.Println(absence, err)
	// Output:
	// no open row of certificate for employee 7: no event has asked for it yet (NotAskedYet)
	//   reminder:certificate:employee:7:default:2026-03-29:7: no event has asked for it yet (NotAskedYet), for 2026-03-22T09:00:00Z
	//   reminder:certificate:employee:7:default:2026-03-29:30: its moment had passed (OffsetPassed), for 2026-02-27T09:00:00Z (its time, 27 February 09:00, had passed by 1 day, more than CatchUp (24 h))
	//   no event of the source was ever handled <nil>
}
