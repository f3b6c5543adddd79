// Command front is the front page: three problems, each solved by the few lines that the
// README shows. remind.go moves a date and its reminder in one transaction, send.go sends
// a receipt with its order, ask.go asks a customer and opens a ticket. It runs on a SQLite
// file in a temporary folder.
//
//	go run ./examples/front
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/sqlite"
	"github.com/belfry-go/belfry/survey"
)

func main() {
	dir, err := os.MkdirTemp("", "front")
	if err != nil {
		log.Fatal("front: ", err)
	}
	err = run(context.Background(), filepath.Join(dir, "app.db"), os.Stdout)
	if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
		log.Fatal("front: ", err)
	}
}

// app is a program that has a store, and what it does on it.
type app struct {
	store        *sqlite.Store
	out          *notify.Notifier
	reminders    *automation.Scheduler
	certificates automation.Reminders
	surveys      *survey.Service
	w            io.Writer
	link         string // the last one that was mailed
}

// setUp is what a program does once, at the start.
func setUp(ctx context.Context, file string, opts *sqlite.Options, mail channel.Channel) (*app, error) {
	store, err := sqlite.Open(ctx, file, opts)
	if err != nil {
		return nil, err
	}
	out := notify.New(store, nil, mail)
	reminders := automation.New(store, out, nil)
	certificates := reminders.Register(automation.ReminderType{
		Name:       "certificate",
		Recipients: automation.RecipientFunc(holder),
		Template:   notify.Template{Subject: "Your certificate {{.Source.ID}} expires on {{.TargetDate}}"},
		Zone:       "Europe/Dublin", SendAt: "09:00",
	})
	out.Register(notify.Type{Name: "receipt", Renderer: notify.Template{Subject: "We have your order"}})
	return &app{store: store, out: out, reminders: reminders, certificates: certificates}, nil
}

// newApp is the program with a channel that prints, surveys, and tables of its own.
func newApp(ctx context.Context, file string, clk clock.Clock, w io.Writer) (a *app, err error) {
	mail := channel.Func("email:print", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		if url := m.Metadata["surveyUrl"]; url != "" {
			a.link = url
		}
		_, err := fmt.Fprintf(w, "%s  to %s: %s\n", clk.Now().Format(time.DateOnly), m.To, m.Subject)
		return channel.Receipt{ID: m.ID}, err
	})
	if a, err = setUp(ctx, file, &sqlite.Options{Clock: clk}, mail); err != nil {
		return nil, err
	}
	a.w = w
	a.surveys = survey.New(a.store, a.out, &survey.Options{SurveyURL: "https://shop.example/s/{token}"})
	a.act()
	_, err = a.surveys.Publish(ctx, survey.Version{SurveyID: 1, Name: "Delivery", Definition: json.RawMessage(questions)})
	if err != nil {
		return nil, err
	}
	_, err = a.store.DB().ExecContext(ctx, `CREATE TABLE certificate (id text PRIMARY KEY, expires date);
		CREATE TABLE purchase (id text PRIMARY KEY); CREATE TABLE delivery (id text PRIMARY KEY)`)
	return a, err
}

// run plays a spring.
func run(ctx context.Context, file string, w io.Writer) error {
	clk := clock.NewMock() // a real program leaves the clock out
	clk.Set(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	a, err := newApp(ctx, file, clk, w)
	if err != nil {
		return err
	}
	defer a.store.Close()
	poller := belfry.NewPoller(a.store, nil, a.reminders, a.out, a.surveys) // in production: poller.Run(ctx)
	first, second := automation.Date{Year: 2026, Month: 5, Day: 1}, automation.Date{Year: 2026, Month: 6, Day: 1}
	for _, step := range []func() error{
		func() error { return a.renew(ctx, "first-aid", first) },
		func() error { return a.renew(ctx, "first-aid", first) },  // said again: nothing changes
		func() error { return a.renew(ctx, "first-aid", second) }, // the date moves
		func() error { return a.renew(ctx, "forklift", first) },
		func() error { return a.revoke(ctx, "forklift") },
		func() error { return a.order(ctx, "1001", "sam", "sam@example.com") },
		func() error { return a.delivered(ctx, "1001", "sam", "sam@example.com") },
		func() error { return poller.Drain(ctx) },
		func() error { return a.answer(ctx) },
		func() error { return poller.Drain(ctx) },
		func() error { clk.Add(62 * 24 * time.Hour); return poller.Drain(ctx) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
