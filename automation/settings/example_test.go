package settings_test

import (
	"context"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/settings"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/memory"
)

// invoice is the host's own data.
type invoice struct {
	due  automation.Date
	unit string
	mail string
}

// A complete small host: it says which date an invoice has and whom to write to;
// settings, zones and calendars are in our tables.
func Example() {
	ctx := context.Background()
	clk := clock.NewMock()
	clk.Set(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	store := memory.New(&memory.Options{Clock: clk})
	invoices := map[string]invoice{"4711": {automation.Date{Year: 2026, Month: 5, Day: 4}, "dublin", "sam@example.com"}}

	set := settings.New(store, &settings.Options{Types: []string{"invoice"}})
	out := notify.New(store, nil, channel.Func("email:print", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		fmt.Println(clk.Now().Format(time.DateTime), m.To, "-", m.Subject)
		return channel.Receipt{ID: "1"}, nil
	}))
	reminders := automation.New(store, out, &automation.Options{Settings: set, Zone: set.Zone})
	reminders.Register(automation.ReminderType{
		Name:     "invoice",
		Template: notify.Template{Subject: "Invoice {{.Source.ID}} is due on {{.TargetDate}}"},
		Triggers: set.Triggers("invoice", func(_ context.Context, of []automation.Request) ([]settings.Targets, error) {
			return automation.Each(of, func(r automation.Request) (settings.Targets, error) {
				i := invoices[r.Source.ID]
				return settings.Targets{Targets: []settings.Target{{Date: i.due, BusinessUnit: i.unit}}}, nil
			})
		}, "invoice-changed"),
		Recipients: automation.RecipientFunc(func(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
			return []notify.Recipient{{Ref: d.Source.ID, Channel: "email:print", Address: invoices[d.Source.ID].mail}}, nil
		}),
		Policy:      automation.DeliveryPolicyFunc(settings.KeepChannels),
		BusinessDay: set.BusinessDay,
	})

	// An administrator configures.
	_, err := set.SaveBusinessUnit(ctx, settings.BusinessUnit{ID: "dublin", Zone: "Europe/Dublin", Calendar: settings.Calendar{
		Weekend: []time.Weekday{time.Saturday, time.Sunday}, Shift: settings.ShiftPrevious,
	}})
	fmt.Println(err)
	soon, err := set.SaveReminder(ctx, settings.ReminderSetting{
		ID: "due-soon", Type: "invoice", Active: true, Offsets: []int{7, 1, -3}, SendAt: "09:00", Channels: []string{"email:print"},
	})
	fmt.Println(soon.Version, err)

	// The invoice is written, and the host tells of it.
	changed := automation.Event{Type: "invoice-changed", Source: automation.Source{Type: "invoice", ID: "4711"}, Version: 1}
	show(reminders.HandleEvent(ctx, changed))

	// Later somebody drops the reminder after the due date, and sends earlier.
	soon.Offsets, soon.SendAt = []int{7, 1}, "08:00"
	soon, err = set.SaveReminder(ctx, soon)
	fmt.Println(soon.Version, err)
	changed.Version = 2
	show(reminders.HandleEvent(ctx, changed))

	poller := belfry.NewPoller(store, nil, reminders, out)
	for range 70 {
		clk.Add(24 * time.Hour)
		if err := poller.Drain(ctx); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// <nil>
	// 1 <nil>
	// Created 2026-04-27 08:00 Pending
	// Created 2026-05-01 08:00 Pending
	// Created 2026-05-07 08:00 Pending
	// 2 <nil>
	// reminder:due-soon:invoice:4711:default:2026-05-04:-3 Superseded
	// Updated 2026-04-27 07:00 Pending
	// Updated 2026-05-01 07:00 Pending
	// 2026-04-27 08:00:00 sam@example.com - Invoice 4711 is due on 2026-05-04
	// 2026-05-01 08:00:00 sam@example.com - Invoice 4711 is due on 2026-05-04
}

func show(r automation.EventResult, err error) {
	for _, d := range r.Deactivated {
		fmt.Println(d.Key, d.Reason)
	}
	for _, e := range r.Ensured {
		fmt.Println(e.Outcome, e.ScheduledOn.Format("2006-01-02 15:04"), e.Status)
	}
	if err != nil {
		fmt.Println(err)
	}
}

// Everything that is wrong is said at once.
func ExampleSettings_SaveReminder() {
	set := settings.New(memory.New(nil), nil)
	_, err := set.SaveReminder(context.Background(), settings.ReminderSetting{
		ID: "due-soon", Type: "invoice", BusinessUnit: "dublin", Offsets: []int{7, 1, 7}, SendAt: "9 am",
	})
	fmt.Println(err)
	// Output:
	// settings: reminder setting "due-soon": Offsets[2]: is the same as Offsets[0]; SendAt: time of day "9 am" must be written as HH:MM or HH:MM:SS; BusinessUnit: business unit "dublin" does not exist in this scope; save it first
}

// What a setting asks for about one date, for a host with a TriggerProvider of
// its own.
func ExampleReminderSetting_Candidates() {
	setting := settings.ReminderSetting{ID: "due-soon", Type: "invoice", Active: true, Offsets: []int{7, -3}, SendAt: "09:00"}
	for _, c := range setting.Candidates(settings.Target{Date: automation.Date{Year: 2026, Month: 5, Day: 4}}) {
		fmt.Println(c.Setting, c.TargetDate, c.DaysBefore, c.SendAt)
	}
	// Output:
	// due-soon 2026-05-04 7 09:00
	// due-soon 2026-05-04 -3 09:00
}
