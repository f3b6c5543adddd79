package automation_test

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

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
	out := notify.New(store, nil, notify.ChannelFunc("email:print", func(context.Context, notify.Message) (notify.Receipt, error) {
		fmt.Println("sent on", clk.Now().Format(time.DateTime))
		return notify.Receipt{ID: "1"}, nil
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
	out := notify.New(store, nil, notify.ChannelFunc("email:print", func(_ context.Context, m notify.Message) (notify.Receipt, error) {
		fmt.Println(m.To, "-", m.Subject)
		return notify.Receipt{ID: "1"}, nil
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
	// certificate for employee 7: NotAskedYet
	//   reminder:certificate:employee:7:default:2026-03-29:7: NotAskedYet, for 2026-03-22T09:00:00Z
	//   reminder:certificate:employee:7:default:2026-03-29:30: OffsetPassed, for 2026-02-27T09:00:00Z
	//   no event of the source was ever handled <nil>
}
