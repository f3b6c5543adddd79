// Command class-capacity shows reminders that are due when a number crosses a
// line: a class of 20 places is nearly full at 16 and full at 20. Four people
// hear of it, each under another firing policy, over one history of bookings
// and cancellations. The table at the end shows who was told when, and why.
//
//	go run ./examples/class-capacity
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage/sqlite"
)

func main() {
	db := flag.String("db", "", "keep the database in this new `file`, to look at it afterwards")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *db); err != nil {
		fmt.Fprintln(os.Stderr, "class-capacity:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, db string) error {
	dir, err := os.MkdirTemp("", "class-capacity")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if db == "" {
		db = filepath.Join(dir, "studio.db")
	} else if _, err := os.Stat(db); err == nil {
		return fmt.Errorf("%s exists: the story begins on an empty database", db)
	}
	clk := clock.NewMock() // a real program leaves it out
	clk.Set(history[0].at)
	store, err := sqlite.Open(ctx, db, &sqlite.Options{Clock: clk})
	if err != nil {
		return err
	}
	defer store.Close()

	mails := &outbox{}
	out := notify.New(store, nil, notify.ChannelFunc("email:table", mails.send))
	reminders := automation.New(store, out, nil)
	reminders.Register(automation.ReminderType{
		Name: "capacity", Zone: "Europe/Dublin", // where the days of OncePerDay begin
		Triggers:   class{},
		Recipients: automation.RecipientFunc(subscriber),
		Template:   notify.Template{Subject: "{{.Source.ID}}: {{.Reading}} of 20 places are taken", Text: "{{.Key}}"},
	})
	p := play{clk, reminders, belfry.NewPoller(store, nil, reminders, out), mails}
	told, err := p.all(ctx)
	if err != nil {
		return err
	}
	return report(w, told)
}
