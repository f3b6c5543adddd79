// Command invoices shows reminders around a date: 14 and 3 days before an invoice
// is due, 1 and 14 days after, at nine o'clock where the customer's branch is, on
// days on which it works. In the middle somebody changes the settings, and
// invoices are paid. It prints the mails in their local time.
//
//	go run ./examples/invoices
package main

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/settings"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/memory"
)

// books are the firm's own table of invoices, by number.
type books map[string]*struct {
	customer, branch string
	due              automation.Date
	version          int64 // grows with each change
	paid             bool
}

// dueDates says which date an invoice has; the offsets are in the settings.
func (b books) dueDates(_ context.Context, e automation.Event) ([]settings.Target, error) {
	return []settings.Target{{Date: b[e.Source.ID].due, BusinessUnit: b[e.Source.ID].branch}}, nil
}

// EventTypes and Invalidations end the reminders of an invoice once it is paid.
func (b books) EventTypes() []string { return []string{"invoice.paid"} }

func (b books) Invalidations(_ context.Context, e automation.Event) ([]automation.Invalidation, error) {
	return []automation.Invalidation{{Setting: "payment", Source: e.Source, Reason: "Paid"}}, nil
}

// stillOpen is asked when a reminder is due. It catches what no event told of.
func (b books) stillOpen(_ context.Context, d automation.Due) (automation.Validity, error) {
	if b[d.Source.ID].paid {
		return automation.NoLongerValid("Paid"), nil
	}
	return automation.StillValid(), nil
}

// customer is asked when a reminder is due, so a new address counts.
func (b books) customer(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
	i := b[d.Source.ID]
	return []notify.Recipient{{Ref: i.customer, Channel: "email:print", Address: i.customer + "@" + i.branch}}, nil
}

// open is the query of reconciliation, here without pages: what is not paid.
func (b books) open(context.Context, automation.ScanRequest) (page automation.ScanPage, _ error) {
	for id, i := range b {
		if !i.paid {
			page.Sources = append(page.Sources, automation.ScannedSource{Source: automation.Source{Type: "invoice", ID: id}, Version: i.version})
		}
	}
	page.Done = true
	return page, nil
}

func main() {
	ctx, clk := context.Background(), clock.NewMock() // a real program leaves the clock out
	clk.Set(time.Date(2026, time.March, 10, 7, 0, 0, 0, time.UTC))
	store := memory.New(&memory.Options{Clock: clk})
	zones := map[string]*time.Location{}
	out := notify.New(store, nil, channel.Func("email:print", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		customer, branch, _ := strings.Cut(m.To, "@")
		fmt.Printf("  %s  %-5s  %s\n", clk.Now().In(zones[branch]).Format("Mon _2 Jan 15:04 MST"), customer, m.Subject)
		return channel.Receipt{ID: m.ID}, nil
	}))
	b := books{
		"1001": {"ada", "dublin.example", date(time.April, 20), 1, false},
		"1002": {"ben", "dublin.example", date(time.April, 22), 1, false},
		"1003": {"carla", "riyadh.example", date(time.April, 20), 1, false},
		"1004": {"dan", "dublin.example", date(time.April, 24), 1, false},
		"1005": {"eve", "dublin.example", date(time.March, 30), 1, false},
	}
	set := settings.New(store, &settings.Options{Types: []string{"invoice"}})
	reminders := automation.New(store, out, &automation.Options{Settings: set, Zone: set.Zone})
	reminders.Register(automation.ReminderType{
		Name: "invoice", Stream: "invoice", Triggers: set.Triggers("invoice", b.dueDates, "invoice.entered"), Invalidations: b,
		Validator: automation.ValidatorFunc(b.stillOpen), Recipients: automation.RecipientFunc(b.customer), BusinessDay: set.BusinessDay,
		Scan:     &automation.Scan{Read: b.open, SourceType: "invoice", Window: 60, Every: 24 * time.Hour, Scopes: []automation.Scope{""}},
		Template: notify.Template{Subject: `Invoice {{.Source.ID}} {{if gt .DaysBefore 0}}is{{else}}was{{end}} due on {{.TargetDate}}`},
	})
	poller := belfry.NewPoller(store, nil, reminders, out)
	until := func(month time.Month, day int) {
		for end := time.Date(2026, month, day, 12, 0, 0, 0, time.UTC); clk.Now().Before(end); clk.Add(time.Hour) {
			must(0, poller.Drain(ctx))
		}
	}
	tell := func(what, id string) automation.EventResult {
		return must(reminders.HandleEvent(ctx, automation.Event{
			Type: what, Source: automation.Source{Type: "invoice", ID: id}, Version: b[id].version, Stream: "invoice",
		}))
	}

	// An administrator configures. A reminder that falls on a day off goes out before
	// it in Dublin, and after it in Riyadh.
	for _, unit := range []settings.BusinessUnit{
		{ID: "dublin.example", Zone: "Europe/Dublin", Calendar: settings.Calendar{
			Weekend:  []time.Weekday{time.Saturday, time.Sunday},
			Holidays: []automation.Date{date(time.April, 6), date(time.May, 4)}, Shift: settings.ShiftPrevious,
		}},
		{ID: "riyadh.example", Zone: "Asia/Riyadh", Calendar: settings.Calendar{
			Weekend: []time.Weekday{time.Friday, time.Saturday}, Shift: settings.ShiftNext,
		}},
	} {
		zones[unit.ID] = must(time.LoadLocation(must(set.SaveBusinessUnit(ctx, unit)).Zone))
	}
	payment := must(set.SaveReminder(ctx, settings.ReminderSetting{
		ID: "payment", Type: "invoice", Active: true, Offsets: []int{14, 3, -1, -14}, SendAt: "09:00",
	}))
	for id := range b {
		tell("invoice.entered", id)
	}
	until(time.April, 10)
	payment.Offsets, payment.SendAt = append(payment.Offsets, -7), "08:00"
	must(set.SaveReminder(ctx, payment)) // reconciliation brings it to the invoices that exist
	for _, dry := range []bool{true, false, true} {
		got := must(reminders.Upkeep().Reconcile(ctx, "", "invoice", &automation.ReconcileOptions{DryRun: dry, FromStart: true}))
		fmt.Printf("Also 7 days after, and at 08:00 (dry run: %t): %d made, %d moved, %d too late\n", dry, got.Created, got.Updated, got.OffsetPassed)
	}
	until(time.April, 14)
	b["1002"].paid, b["1002"].version = true, 2
	fmt.Printf("1002 is paid, which ends %d reminders.\n", len(tell("invoice.paid", "1002").Deactivated))
	until(time.April, 16)
	b["1004"].paid, b["1004"].version = true, 2 // the event is lost; each reminder is checked when it is due
	until(time.May, 10)
	fmt.Println(must(reminders.Explain(ctx, "", "reminder:payment:invoice:1002:default:2026-04-22:3")))
}

func date(month time.Month, day int) automation.Date {
	return automation.Date{Year: 2026, Month: month, Day: day}
}

func must[T any](got T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return got
}
