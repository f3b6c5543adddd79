// Command hello is the smallest whole program: a reminder that is due in five seconds.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/sqlite"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	fmt.Println("Ended:", run(ctx, "hello.db", os.Stdout))
}

func run(ctx context.Context, file string, w io.Writer) error {
	store, err := sqlite.Open(ctx, file, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	out := notify.New(store, nil, channel.Func("email:print", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		_, err := fmt.Fprintln(w, m.To, "-", m.Subject)
		return channel.Receipt{ID: m.ID}, err
	}))
	reminders := automation.New(store, out, nil)
	lessons := reminders.Register(automation.ReminderType{
		Name: "lesson", Zone: "Europe/Dublin", Template: notify.Template{Subject: "Your lesson begins at {{.At.LocalTime}}"},
		Recipients: automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
			return []notify.Recipient{{Ref: "sam", Channel: "email:print", Address: "sam@example.com"}}, nil
		}),
	})
	start := time.Now().Add(time.Hour + 5*time.Second)
	if _, err := lessons.Set(ctx, automation.About{ID: "1"}, automation.Before(start, time.Hour)); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(w, "A reminder is due in five seconds. Press Ctrl-C to end.")
	return belfry.NewPoller(store, nil, reminders, out).Run(ctx)
}
