package support_test

import (
	"context"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/support"
)

// demo reminds Sam, who has no address, and Kim, whose mail server refuses.
func demo(ctx context.Context) (*support.Desk, *clock.Mock, *belfry.Poller) {
	clk := clock.NewMock()
	clk.Set(time.Date(2026, 4, 1, 8, 0, 0, 0, time.UTC))
	store := memory.New(&memory.Options{Clock: clk})
	out := notify.New(store, nil, channel.Func("email:print", func(context.Context, channel.Message) (channel.Receipt, error) {
		return channel.Receipt{}, channel.Permanent("550", nil)
	}))
	reminders := automation.New(store, out, nil)
	reminders.Register(automation.ReminderType{
		Name: "certificate", SendAt: "09:00", Zone: "UTC", Template: notify.Template{Subject: "It expires"},
		Recipients: automation.RecipientFunc(func(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
			if d.Source.ID == "sam" {
				return nil, nil
			}
			return []notify.Recipient{{Ref: d.Source.ID, Channel: "email:print", Address: d.Source.ID + "@example.com"}}, nil
		}),
	})
	for _, who := range []string{"sam", "kim"} {
		_, err := reminders.Ensure(ctx, automation.Candidate{
			Type: "certificate", Source: automation.Source{Type: "employee", ID: who}, Person: who,
			TargetDate: automation.Date{Year: 2026, Month: 4, Day: 24}, DaysBefore: 7,
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	return support.New(support.Options{Store: store, Automation: reminders, Notify: out}), clk, belfry.NewPoller(store, nil, reminders, out)
}

func ExampleDesk_Verdict() {
	ctx := context.Background()
	desk, clk, poller := demo(ctx)
	say := func() {
		for _, who := range []string{"sam", "kim"} {
			v, err := desk.Verdict(ctx, "", who, "certificate")
			fmt.Println(who, v.Text, err)
		}
	}
	say()
	clk.Set(time.Date(2026, 4, 17, 9, 0, 0, 0, time.UTC))
	fmt.Println(poller.Drain(ctx), poller.Drain(ctx))
	say()
	// Output:
	// sam has not got "certificate, 7 days before 2026-04-24" yet: it comes on 17 April 2026, 09:00 UTC <nil>
	// kim has not got "certificate, 7 days before 2026-04-24" yet: it comes on 17 April 2026, 09:00 UTC <nil>
	// <nil> <nil>
	// sam did not get "certificate, 7 days before 2026-04-24" on 17 April 2026, 09:00 UTC: no recipient or address was on file (NoRecipients) <nil>
	// kim did not get "certificate, 7 days before 2026-04-24" on 17 April 2026, 09:00 UTC: the mailbox does not exist (550) <nil>
}

func ExampleDesk_Story() {
	ctx := context.Background()
	desk, clk, poller := demo(ctx)
	clk.Set(time.Date(2026, 4, 17, 9, 0, 0, 0, time.UTC))
	fmt.Println(poller.Drain(ctx), poller.Drain(ctx))
	story, err := desk.Story(ctx, "", support.About{Person: "kim"}, storage.Page{})
	for _, e := range story.Past {
		fmt.Println(e.What)
		for _, s := range e.Steps {
			fmt.Println(" ", s.On.Format("15:04"), s.What)
		}
	}
	fmt.Println(err)
	// Output:
	// <nil> <nil>
	// certificate, 7 days before 2026-04-24: failed, since the mailbox does not exist (550)
	//   09:00 made for email:print
	//   09:00 attempt 1 failed for good: the mailbox does not exist
	// certificate, 7 days before 2026-04-24: failed, since the mailbox does not exist (550)
	//   09:00 it came due, and Belfry queued its messages
	// <nil>
}

func ExampleDesk_Act() {
	ctx := context.Background()
	desk, _, _ := demo(ctx)
	story, err := desk.Story(ctx, "", support.About{Person: "sam"}, storage.Page{})
	fmt.Println(story.Next[0].What, err)
	order := support.Order{
		Action: support.Cancel, Targets: []support.Target{{Kind: support.KindReminder, Key: story.Next[0].Key}},
		By: support.By{Actor: "ann", Reason: "has left"}, DryRun: true,
	}
	for range 2 {
		acted, err := desk.Act(ctx, "", order)
		fmt.Println(order.DryRun, acted[0].Done, err)
		order.DryRun = false
	}
	acted, err := desk.Act(ctx, "", order)
	fmt.Println(acted[0].Done, acted[0].Refused, err)
	// Output:
	// certificate, 7 days before 2026-04-24: comes on 17 April 2026, 09:00 UTC <nil>
	// true true <nil>
	// false true <nil>
	// false it is Cancelled <nil>
}

func ExampleDesk_Health() {
	ctx := context.Background()
	desk, _, _ := demo(ctx)
	pause := support.Target{Part: support.Part{Domain: "automation", Type: "certificate"}}
	_, err := desk.Act(ctx, "", support.Order{Action: support.Pause, Targets: []support.Target{pause}, By: support.By{Actor: "ann", Reason: "a mistake in the text"}})
	fmt.Println(err)
	health, err := desk.Health(ctx, storage.Everywhere())
	for _, n := range health.Needs {
		fmt.Println(n.Kind, n.What)
	}
	fmt.Println(err)
	// Output:
	// <nil>
	// Paused certificate is paused in automation until a person resumes it
	// <nil>
}
