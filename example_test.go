package belfry_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/notifytest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// app is a host with one reminder type, on a store whose clock it moves.
func app(types ...string) (*automation.Scheduler, *belfry.Poller, *notifytest.Recorder, *clock.Mock) {
	clk := clock.NewMock()
	clk.Set(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	store := memory.New(&memory.Options{Clock: clk})
	mails := notifytest.NewRecorder()
	out := notify.New(store, nil, mails)
	reminders := automation.New(store, out, nil)
	for _, name := range types {
		reminders.Register(automation.ReminderType{
			Name: name, SendAt: "09:00", Zone: "Europe/Dublin", Template: notify.Template{Subject: name},
			Recipients: automation.RecipientFunc(func(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
				return []notify.Recipient{{Ref: d.Source.ID, Channel: mails.Key(), Address: d.Source.ID + "@example.com"}}, nil
			}),
		})
	}
	return reminders, belfry.NewPoller(store, nil, reminders, out), mails, clk
}

func remind(reminders *automation.Scheduler, typ string, on automation.Date) {
	_, err := reminders.Ensure(context.Background(), automation.Candidate{
		Type: typ, Source: automation.Source{Type: "employee", ID: "sam"}, TargetDate: on,
	})
	if err != nil {
		fmt.Println(err)
	}
}

// Each call lets every pass work on one batch: the reminder that is due, then the
// job that it made, the message, the call.
func ExamplePoller_PollOnce() {
	reminders, poller, mails, clk := app("visit")
	remind(reminders, "visit", automation.Date{Year: 2026, Month: 3, Day: 2})
	clk.Add(36 * time.Hour)
	rep, err := poller.PollOnce(context.Background(), 100)
	fmt.Println(rep.Claimed, "rows claimed,", rep.Settled, "settled,", len(mails.Messages()), "mail,", err)
	rep, err = poller.PollOnce(context.Background(), 100)
	fmt.Println(rep.Claimed, "rows claimed,", err)
	// Output:
	// 4 rows claimed, 4 settled, 1 mail, <nil>
	// 0 rows claimed, <nil>
}

// A test lets time pass and drains.
func ExamplePoller_Drain() {
	reminders, poller, mails, clk := app("visit")
	remind(reminders, "visit", automation.Date{Year: 2026, Month: 3, Day: 13})
	for range 3 {
		clk.Add(4*24*time.Hour + time.Hour)
		fmt.Println(clk.Now().Format(time.DateOnly), poller.Drain(context.Background()), len(mails.Messages()))
	}
	// Output:
	// 2026-03-05 <nil> 0
	// 2026-03-09 <nil> 0
	// 2026-03-13 <nil> 1
}

// In earnest a poller runs until its context ends, on the store's real clock.
func ExamplePoller_Run() {
	_, poller, _, _ := app("visit")
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // a signal to stop, in earnest
	fmt.Println(poller.Run(ctx))
	// Output: context canceled
}

// A program that serves HTTP beside its poller tells an orchestrator whether to send it
// requests, and whether to restart it.
func ExamplePoller_Ready() {
	_, poller, _, _ := app("visit")
	probe := func(check func(context.Context) error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if err := check(r.Context()); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable) // on a port for probes only
			}
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", probe(poller.Ready))
	mux.HandleFunc("GET /livez", probe(func(context.Context) error { return poller.Live() }))
	for _, path := range []string{"/readyz", "/livez"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		fmt.Println(path, w.Code, strings.TrimSpace(w.Body.String()))
	}
	// Output:
	// /readyz 503 belfry: the poller does not run
	// /livez 200
}

// All that the services of a poller have to say of their work, of all tenants.
func ExamplePoller_Health() {
	reminders, poller, _, clk := app("visit")
	remind(reminders, "visit", automation.Date{Year: 2026, Month: 3, Day: 2})
	clk.Add(48 * time.Hour)
	now, err := poller.Health(context.Background(), storage.Everywhere())
	fmt.Println(now, err)
	// Output:
	// work at 2026-03-03T08:00:00Z of all tenants
	//   the oldest has waited for 23h0m0s
	//   due, visit of automation_scheduler: 1
	//   nothing waits for a person
	//   reminders taken over from workers that died or stalled, by this process: 0 <nil>
}

// What ended a month ago is forgotten, but for its key: nobody gets it again.
func ExampleRetention() {
	clk, ctx := clock.NewMock(), context.Background()
	clk.Set(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	store, mails := memory.New(&memory.Options{Clock: clk}), notifytest.NewRecorder()
	out := notify.New(store, nil, mails)
	out.Register(notify.Type{Name: "welcome", Renderer: notify.Template{Subject: "Welcome"}})
	quiet := slog.New(slog.DiscardHandler)
	poller := belfry.NewPoller(store, &belfry.Options{Retention: belfry.Retention{Messages: 30 * 24 * time.Hour}, Logger: quiet}, out)
	welcome := func() {
		got, err := out.Notify(ctx, notify.Job{
			Type: "welcome", PartitionKey: "user:7", RowKey: "welcome",
			Recipients: []notify.Recipient{{Ref: "7", Channel: mails.Key(), Address: "sam@example.com"}},
		})
		fmt.Println(got.Outcome, got.Status, err)
	}
	welcome()
	for range 60 {
		clk.Add(24 * time.Hour)
		if err := poller.Drain(ctx); err != nil {
			fmt.Println(err)
		}
	}
	messages, _, err := out.Support().Messages(ctx, "", "welcome", storage.Page{})
	fmt.Println(len(messages), "messages are known", err)
	welcome()
	fmt.Println(poller.Drain(ctx), len(mails.Messages()), "mail")
	// Output:
	// Created Created <nil>
	// 0 messages are known <nil>
	// Unchanged Generated <nil>
	// <nil> 1 mail
}
