// Command hello is the smallest whole program: a reminder that is made in March,
// is due on the first of April, and arrives once.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/memory"
)

func main() {
	ctx, clk := context.Background(), clock.NewMock() // a real program leaves the clock out
	clk.Set(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	store := memory.New(&memory.Options{Clock: clk}) // sqlite.Open(ctx, "app.db", nil) in earnest
	out := notify.New(store, nil, channel.Func("email:print", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		fmt.Println(m.To, "-", m.Subject)
		return channel.Receipt{ID: "1"}, nil
	}))
	reminders := automation.New(store, out, nil)
	reminders.Register(automation.ReminderType{
		Name:     "certificate",
		Template: notify.Template{Subject: "Your {{.Source.ID}} certificate expires on {{.TargetDate}}"},
		Recipients: automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
			return []notify.Recipient{{Ref: "sam", Channel: "email:print", Address: "sam@example.com"}}, nil
		}),
	})
	about := automation.About{Type: "certificate", Source: automation.Source{Type: "employee", ID: "first-aid"}}
	_, err := reminders.Set(ctx, about, automation.Candidate{ // all that is wanted: say it again when it changes
		TargetDate: automation.Date{Year: 2026, Month: 5, Day: 1}, DaysBefore: 30, SendAt: "09:00", Zone: "Europe/Dublin"})
	poller := belfry.NewPoller(store, nil, reminders, out)
	clk.Add(40 * 24 * time.Hour)
	fmt.Println(err, poller.Drain(ctx), poller.Drain(ctx)) // the second finds nothing; poller.Run(ctx) in earnest
}
