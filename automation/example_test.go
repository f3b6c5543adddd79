package automation_test

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
)

// open gives a store in memory whose clock stands at 1 March 2026, 08:00 UTC.
func open() (*memory.Store, *clock.Mock) {
	clk := clock.NewMock()
	clk.Set(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	return memory.New(&memory.Options{Clock: clk}), clk
}

var certificate = automation.ReminderType{
	Name: "certificate", SourceType: "employee", SendAt: "09:00", Zone: "Europe/Dublin",
	Template: notify.Template{Subject: "Your certificate expires on {{.TargetDate}}"},
	Recipients: automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
		return []notify.Recipient{{Ref: "sam", Channel: "email:print", Address: "sam@example.com"}}, nil
	}),
}

// The date moves: the host sets the new one, and the reminder of the old one is withdrawn.
func ExampleReminders_Set() {
	ctx := context.Background()
	store, _ := open()
	reminders := automation.New(store, notify.New(store, nil), nil)
	certificates := reminders.Register(certificate)
	about := automation.About{ID: "7"}
	expires := automation.Date{Year: 2026, Month: 5, Day: 1}
	got, err := certificates.Set(ctx, about, automation.DaysBefore(expires, 30)) // Created; a second call: Unchanged
	fmt.Println(got.Ensured[0].Outcome, got.Ensured[0].Key, err)
	expires.Month = 6
	got, err = certificates.Set(ctx, about, automation.DaysBefore(expires, 30))
	fmt.Println(got.Ensured[0].Outcome, got.Ensured[0].Key, got.Deactivated, err)
	got, err = certificates.Clear(ctx, about)
	fmt.Println(got.Deactivated, err)
	// Output:
	// Created reminder:certificate:employee:7:default:2026-05-01:30 <nil>
	// Created reminder:certificate:employee:7:default:2026-06-01:30 [{reminder:certificate:employee:7:default:2026-05-01:30 Superseded}] <nil>
	// [{reminder:certificate:employee:7:default:2026-06-01:30 Superseded}] <nil>
}

// Saying it twice changes nothing, and ends nothing either.
func ExampleScheduler_Ensure() {
	ctx := context.Background()
	store, _ := open()
	reminders := automation.New(store, notify.New(store, nil), nil)
	reminders.Register(certificate)
	expires := automation.Candidate{
		Type: "certificate", Source: automation.Source{Type: "employee", ID: "7"},
		TargetDate: automation.Date{Year: 2026, Month: 5, Day: 1}, DaysBefore: 30,
	}
	for range 2 {
		got, err := reminders.Ensure(ctx, expires)
		fmt.Println(got[0].Outcome, got[0].Key, got[0].ScheduledOn, err)
	}
	// Output:
	// Created reminder:certificate:employee:7:default:2026-05-01:30 2026-04-01 08:00:00 +0000 UTC <nil>
	// Unchanged reminder:certificate:employee:7:default:2026-05-01:30 2026-04-01 08:00:00 +0000 UTC <nil>
}

// expiries is what the host knows: when each employee's certificate expires.
type expiries map[string]automation.Date

func (m expiries) EventTypes() []string { return []string{"certificate-changed"} }

func (m expiries) Wanted(_ context.Context, of []automation.Request) ([]automation.Answer, error) {
	return automation.Each(of, func(r automation.Request) (a automation.Answer, err error) {
		for _, days := range []int{30, 7} {
			a.Candidates = append(a.Candidates, automation.Candidate{TargetDate: m[r.Source.ID], DaysBefore: days})
		}
		return a, nil
	})
}

// A certificate is renewed: its old reminders go, new ones come.
func ExampleScheduler_HandleEvent() {
	ctx := context.Background()
	store, _ := open()
	known := expiries{"7": {Year: 2026, Month: 5, Day: 1}}
	reminders := automation.New(store, notify.New(store, nil), nil)
	t := certificate
	t.Triggers = known
	reminders.Register(t)

	event := automation.Event{ID: "e1", Type: "certificate-changed", Source: automation.Source{Type: "employee", ID: "7"}, Version: 1}
	if _, err := reminders.HandleEvent(ctx, event); err != nil {
		fmt.Println(err)
	}
	known["7"] = automation.Date{Year: 2029, Month: 5, Day: 1}
	event.ID, event.Version = "e2", 2
	result, err := reminders.HandleEvent(ctx, event)
	fmt.Println(result.Outcome, err)
	for _, d := range result.Deactivated {
		fmt.Println(d.Key, d.Reason)
	}
	for _, e := range result.Ensured {
		fmt.Println(e.Key, e.Outcome)
	}
	// Output:
	// Applied <nil>
	// reminder:certificate:employee:7:default:2026-05-01:30 Superseded
	// reminder:certificate:employee:7:default:2026-05-01:7 Superseded
	// reminder:certificate:employee:7:default:2029-05-01:30 Created
	// reminder:certificate:employee:7:default:2029-05-01:7 Created
}

// What was said vanishes with the transaction that it belongs to. On a SQL
// store the transaction is the host's own: WithTx(store.Join(tx)).
func ExampleScheduler_WithTx() {
	ctx := context.Background()
	store, _ := open()
	reminders := automation.New(store, notify.New(store, nil), nil)
	certificates := reminders.Register(certificate)
	about := automation.About{ID: "7"}
	expires := automation.DaysBefore(automation.Date{Year: 2026, Month: 5, Day: 1}, 0)
	err := store.InTx(ctx, func(tx storage.Tx) error {
		got, err := certificates.In(tx).Set(ctx, about, expires)
		fmt.Println(got.Ensured[0].Outcome, err)
		return fmt.Errorf("the employee could not be saved")
	})
	fmt.Println(err)
	got, err := certificates.Set(ctx, about, expires)
	fmt.Println(got.Ensured[0].Outcome, err)
	// Output:
	// Created <nil>
	// the employee could not be saved
	// Created <nil>
}

func ExampleScheduler_Explain() {
	ctx := context.Background()
	store, _ := open()
	reminders := automation.New(store, notify.New(store, nil), nil)
	certificates := reminders.Register(certificate)
	got, err := certificates.Set(ctx, automation.About{ID: "7"}, automation.DaysBefore(automation.Date{Year: 2026, Month: 5, Day: 1}, 30))
	if err != nil {
		fmt.Println(err)
	}
	story, err := reminders.Explain(ctx, "", got.Ensured[0].Key)
	fmt.Println(story, err)
	// Output:
	// reminder:certificate:employee:7:default:2026-05-01:30
	//   certificate for employee 7, 30 days before 2026-05-01, at 09:00 Europe/Dublin: 2026-04-01T08:00:00Z
	//   Pending
	//   2026-03-01T08:00:00Z: Created by host
	//   now: it waits until 2026-04-01T08:00:00Z (in 31 days); as things are, delivery would be queued (recipients: 1) <nil>
}

// A type of the host's own: its handler decides, the pass writes.
func ExampleScheduler_Handle() {
	ctx := context.Background()
	store, clk := open()
	work := automation.New(store, notify.New(store, nil), nil)
	work.Handle(automation.WorkType{Name: "export", Handler: automation.HandlerFunc(func(_ context.Context, due []automation.Due) ([]automation.Outcome, error) {
		out := make([]automation.Outcome, len(due))
		for i, d := range due {
			fmt.Println("exporting", d.Source.ID, "due", d.ScheduledOn)
			out[i].Result.Summary = "12 pages"
		}
		return out, nil
	})})
	_, err := work.Ensure(ctx, automation.Candidate{
		AutomationType: "export", Source: automation.Source{Type: "file", ID: "budget"}, ScheduledOn: clk.Now().Add(time.Hour),
	})
	poller := belfry.NewPoller(store, nil, work)
	clk.Add(2 * time.Hour)
	fmt.Println(err, poller.Drain(ctx), poller.Drain(ctx)) // the second finds nothing
	// Output:
	// exporting budget due 2026-03-01 09:00:00 +0000 UTC
	// <nil> <nil> <nil>
}

// A job that runs each night, and now if a person asks: the id of the run keeps a repeated
// request from running it twice.
func ExampleScheduler_Handle_recurring() {
	ctx := context.Background()
	store, clk := open()
	jobs := automation.New(store, notify.New(store, nil), nil)
	jobs.Handle(automation.WorkType{
		Name: "backup", Zone: "Europe/Dublin", Lateness: automation.Lateness{OnlyLatest: true},
		Handler: automation.HandlerFunc(func(_ context.Context, due []automation.Due) ([]automation.Outcome, error) {
			for _, d := range due {
				fmt.Println("backing up", d.Source.ID, "at", d.ScheduledOn)
			}
			return make([]automation.Outcome, len(due)), nil
		}),
	})
	server := automation.Source{Type: "server", ID: "eu-1"}
	_, err := jobs.Ensure(ctx,
		automation.Candidate{AutomationType: "backup", Source: server, Recurrence: &automation.Recurrence{Cron: "0 3 * * *"}},
		automation.Candidate{AutomationType: "backup", Source: server, Run: "request-17"})
	poller := belfry.NewPoller(store, nil, jobs)
	fmt.Println(err, poller.Drain(ctx))
	clk.Add(24 * time.Hour)
	fmt.Println(poller.Drain(ctx))
	// Output:
	// backing up eu-1 at 2026-03-01 08:00:00 +0000 UTC
	// <nil> <nil>
	// backing up eu-1 at 2026-03-02 03:00:00 +0000 UTC
	// <nil>
}

// A reminder 30 days before a certificate expires.
func Example() {
	ctx := context.Background()
	store, clk := open()
	out := notify.New(store, nil, channel.Func("email:print", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		fmt.Println(m.To, "-", m.Subject)
		return channel.Receipt{ID: "1"}, nil
	}))
	reminders := automation.New(store, out, nil)
	certificates := reminders.Register(automation.ReminderType{
		Name: "certificate", SendAt: "09:00", Zone: "Europe/Dublin",
		Template: notify.Template{Subject: "Your {{.Source.ID}} certificate expires on {{.TargetDate}}"},
		Recipients: automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
			return []notify.Recipient{{Ref: "sam", Channel: "email:print", Address: "sam@example.com"}}, nil
		}),
	})
	expires := automation.Date{Year: 2026, Month: 5, Day: 1}
	_, err := certificates.Set(ctx, automation.About{ID: "first-aid"}, automation.DaysBefore(expires, 30))
	poller := belfry.NewPoller(store, nil, reminders, out)
	clk.Add(40 * 24 * time.Hour)
	fmt.Println(err, poller.Drain(ctx), poller.Drain(ctx)) // the second finds nothing
	// Output:
	// sam@example.com - Your first-aid certificate expires on 2026-05-01
	// <nil> <nil> <nil>
}

// Support keeps a reminder back, and later lets it go. Both are audited.
func ExampleSupport_Hold() {
	ctx := context.Background()
	store, _ := open()
	reminders := automation.New(store, notify.New(store, nil), nil)
	certificates := reminders.Register(certificate)
	got, err := certificates.Set(ctx, automation.About{ID: "7"}, automation.DaysBefore(automation.Date{Year: 2026, Month: 5, Day: 1}, 30))
	if err != nil {
		panic(err)
	}
	key := got.Ensured[0].Key
	by := automation.By{Actor: "support", Reason: "a new certificate is on its way"}
	fmt.Println(reminders.Support().Hold(ctx, "", key, by))
	fmt.Println(reminders.Support().Hold(ctx, "", key, by))
	fmt.Println(reminders.Support().Release(ctx, "", key, by))
	// Output:
	// <nil>
	// automation: support action refused: Hold of reminder:certificate:employee:7:default:2026-05-01:30: it is on hold already
	// <nil>
}

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
	health, err := reminders.Health(ctx, storage.Everywhere())
	fmt.Println(health, err)
	fmt.Println(health.Unserved()[0].Kind, health.OldestDue() > time.Hour)
	// Output:
	// work at 2026-04-01T10:30:00Z of all tenants
	//   the oldest has waited for 2h30m0s
	//   due, certificate of automation_scheduler: 1
	//   due, invoice of automation_scheduler: 1; not served by this process
	//   nothing waits for a person
	//   reminders taken over from workers that died or stalled, by this process: 0 <nil>
	// invoice true
}

// Reminders stay for a year after they ended. Then they go, and whoever asks for
// one again is told that its moment has passed.
func ExampleMaintenance_Retain() {
	ctx := context.Background()
	store, clk := open()
	out := notify.New(store, nil)
	reminders := automation.New(store, out, nil)
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
	if err := belfry.NewPoller(store, nil, reminders, out).Drain(ctx); err != nil {
		panic(err)
	}
	clk.Set(time.Date(2027, 4, 2, 9, 0, 0, 0, time.UTC))
	report, err := reminders.Maintenance().Retain(ctx) // a Poller does it once a day
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
	out := notify.New(store, nil)
	reminders := automation.New(store, out, &automation.Options{Traces: &automation.Traces{Keep: 7 * 24 * time.Hour}})
	reminders.Register(certificate)
	got, err := reminders.Ensure(ctx, automation.Candidate{
		Type: "certificate", Source: automation.Source{Type: "employee", ID: "7"},
		TargetDate: automation.Date{Year: 2026, Month: 5, Day: 1}, DaysBefore: 30,
	})
	if err != nil {
		panic(err)
	}
	clk.Set(time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC))
	if _, err := belfry.NewPoller(store, nil, reminders, out).PollOnce(ctx, 10); err != nil {
		panic(err)
	}
	trace, err := reminders.Support().Trace(ctx, "", got[0].Key)
	fmt.Println(trace.EndedAt, trace.Status, "recipients:", trace.Recipients, err)
	fmt.Println("first", trace.Steps[0].Name, "on", trace.Steps[0].EndedOn)
	// Output:
	// artifacts Completed recipients: 1 <nil>
	// first decode on 2026-04-01 09:00:00 +0000 UTC
}

// scan is what a host's query would give: one page holds all of them here.
func (m expiries) scan(_ context.Context, r automation.ScanRequest) (automation.ScanPage, error) {
	page := automation.ScanPage{Done: true}
	for _, id := range []string{"7", "8"} {
		if first := m[id].AddDays(-30); !first.Before(r.From) && !first.After(r.To) {
			page.Sources = append(page.Sources, automation.ScannedSource{Source: automation.Source{Type: "employee", ID: id}, Version: 1})
		}
	}
	return page, nil
}

// An event was lost. A dry run tells what is missing, a run mends it, and a
// second run finds nothing. In production a Poller does this once an hour.
func ExampleMaintenance_Reconcile() {
	ctx := context.Background()
	store, _ := open()
	known := expiries{"7": {Year: 2026, Month: 5, Day: 1}, "8": {Year: 2026, Month: 6, Day: 1}}
	reminders := automation.New(store, notify.New(store, nil), nil)
	t := certificate
	t.Triggers = known
	t.Scan = &automation.Scan{Read: known.scan, SourceType: "employee", Window: 90, Scopes: []automation.Scope{""}}
	reminders.Register(t)

	seen := automation.Event{ID: "e1", Type: "certificate-changed", Source: automation.Source{Type: "employee", ID: "7"}, Version: 1}
	if _, err := reminders.HandleEvent(ctx, seen); err != nil {
		fmt.Println(err)
	}
	for _, opts := range []*automation.ReconcileOptions{{DryRun: true}, nil, nil} {
		report, err := reminders.Maintenance().Reconcile(ctx, "", "certificate", opts)
		fmt.Println("scanned", report.Scanned, "unchanged", report.Unchanged, "created", report.Created, err)
		for _, d := range report.Differences {
			fmt.Println(d.Kind, d.Key)
		}
	}
	// Output:
	// scanned 2 unchanged 1 created 2 <nil>
	// WouldCreate reminder:certificate:employee:8:default:2026-06-01:30
	// WouldCreate reminder:certificate:employee:8:default:2026-06-01:7
	// scanned 2 unchanged 1 created 2 <nil>
	// WouldCreate reminder:certificate:employee:8:default:2026-06-01:30
	// WouldCreate reminder:certificate:employee:8:default:2026-06-01:7
	// scanned 2 unchanged 2 created 0 <nil>
}
