package gate_test

import (
	"context"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/storage/memory"
)

// Three messages in the evening: one recipient sleeps, one has opted out, and one
// gets it. A dry run says so beforehand.
func ExampleNew() {
	ctx, clk := context.Background(), clock.NewMock()
	clk.Set(time.Date(2026, 3, 2, 20, 0, 0, 0, time.UTC))
	store := memory.New(&memory.Options{Clock: clk})
	mail := channel.Func("email:demo", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		fmt.Println(clk.Now().Format("15:04"), "sent to", m.To)
		return channel.Receipt{}, nil
	})
	n := notify.New(store, &notify.Options{Gates: gate.New(store, &gate.Options{
		Window: &gate.Window{From: "08:00", To: "21:00", Spread: time.Minute},
		Caps:   []gate.Cap{{Limit: 3, Per: 24 * time.Hour}},
		Rates:  []gate.Rate{{Channel: "email:demo", Limit: 10, Per: time.Second}},
	})}, mail)

	letter := func(to, zone string) notify.OutgoingMessage {
		return notify.OutgoingMessage{
			Channel: "email:demo", PartitionKey: "news", NotificationType: "news",
			RecipientRef: to, Address: to + "@example.com", Zone: zone,
		}
	}
	all := []notify.OutgoingMessage{letter("ann", "Europe/London"), letter("bob", "Asia/Tokyo"), letter("cy", "Europe/London")}
	orPanic(n.Contacts().SetPreferences(ctx, notify.Preference{RecipientRef: "cy", Type: "news", OptedOut: true}))

	forecast, err := n.DryRun(ctx, all...)
	orPanic(err)
	for _, f := range forecast {
		if f.Verdict.Action == gate.ActionProceed {
			fmt.Println(f.Message.RecipientRef, "gets it")
		} else {
			fmt.Println(f.Message.RecipientRef, f.Verdict.Action, f.Verdict.Reason)
		}
	}
	_, err = n.EnsureOutgoingMessage(ctx, nil, all...)
	orPanic(err)
	poller := belfry.NewPoller(store, nil, n)
	orPanic(poller.Drain(ctx))
	clk.Set(time.Date(2026, 3, 2, 23, 1, 0, 0, time.UTC)) // 08:01 in Tokyo
	orPanic(poller.Drain(ctx))
	// Output:
	// ann gets it
	// bob Defer QuietHours
	// cy Skip OptedOut
	// 20:00 sent to ann@example.com
	// 23:01 sent to bob@example.com
}

// Two stores send by one account: they are given one channel value, and count its rate in
// one store.
func ExampleNew_sharedAccount() {
	ctx, clk := context.Background(), clock.NewMock()
	sms := channel.Func("sms:demo", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		fmt.Println("sent to", m.To)
		return channel.Receipt{}, nil
	})
	one, two := memory.New(&memory.Options{Clock: clk}), memory.New(&memory.Options{Clock: clk})
	for i, store := range []*memory.Store{one, two} {
		n := notify.New(store, &notify.Options{ChannelConcurrency: map[string]int{"sms:demo": 5}, Gates: gate.New(store, &gate.Options{
			Rates: []gate.Rate{{Channel: "sms:demo", Limit: 1, Per: time.Hour}}, RateStore: one,
		})}, sms)
		m := notify.OutgoingMessage{Channel: "sms:demo", PartitionKey: "news", NotificationType: "news", RecipientRef: "sam", Address: "+353861234567"}
		_, err := n.EnsureOutgoingMessage(ctx, nil, m)
		orPanic(err)
		fmt.Println("store", i+1)
		orPanic(belfry.NewPoller(store, nil, n).Drain(ctx))
	}
	// Output:
	// store 1
	// sent to +353861234567
	// store 2
}

// Marketing is paused while the price list is wrong; what was made meanwhile goes
// out when it is resumed.
func ExampleSupport_Pause() {
	ctx, store := context.Background(), memory.New(&memory.Options{Clock: clock.NewMock()})
	n := notify.New(store, nil, channel.Func("email:demo", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		fmt.Println("sent to", m.To)
		return channel.Receipt{}, nil
	}))
	poller := belfry.NewPoller(store, nil, n)
	offers := notify.Extent{Everywhere: true, Type: "offer"}
	orPanic(n.Support().Pause(ctx, offers, time.Time{}, notify.By{Actor: "ann", Reason: "the price list is wrong"}))

	_, err := n.EnsureOutgoingMessage(ctx, nil, notify.OutgoingMessage{
		Channel: "email:demo", PartitionKey: "spring", NotificationType: "offer", Address: "sam@example.com",
	})
	orPanic(err)
	orPanic(poller.Drain(ctx))
	paused, err := n.Support().Pauses(ctx, "")
	orPanic(err)
	fmt.Println(paused[0].Type, "paused by", paused[0].By.Actor)

	orPanic(n.Support().Resume(ctx, offers, notify.By{Actor: "ann", Reason: "mended"}))
	orPanic(poller.Drain(ctx))
	// Output:
	// offer paused by ann
	// sent to sam@example.com
}

// All gates that there are, with one of the host's own behind them.
func ExampleFunc() {
	ctx, clk := context.Background(), clock.NewMock()
	clk.Set(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)) // a Sunday
	store := memory.New(&memory.Options{Clock: clk})
	hashKey := []byte("0123456789abcdef0123456789abcdef") // from the environment
	gates := gate.New(store, &gate.Options{
		Guard:  &gate.Guard{Allow: []string{"@school.example"}, Redirect: map[string]string{"email": "qa@school.example"}},
		Caps:   []gate.Cap{{Limit: 3, Per: 24 * time.Hour}},
		Window: &gate.Window{From: "08:00", To: "21:00", Zone: "Europe/Dublin"},
		Rates:  []gate.Rate{{Channel: "email:sendgrid", Limit: 100, Per: time.Second}},
	})
	gates = append(gates, gate.Func(func(_ context.Context, a gate.Attempt) (gate.Verdict, error) {
		if a.NotificationType == "offer" && a.Now.Weekday() == time.Sunday {
			return gate.Skip("NoOffersOnSundays"), nil
		}
		return gate.Proceed(), nil
	}))
	out := notify.New(store, &notify.Options{HashKey: hashKey, Gates: gates})

	letter := notify.OutgoingMessage{
		Channel: "email:sendgrid", PartitionKey: "1", NotificationType: "news",
		RecipientRef: "17", Address: "sam@example.com",
	}
	offer := letter
	offer.PartitionKey, offer.NotificationType = "2", "offer"
	forecast, err := out.DryRun(ctx, letter, offer)
	orPanic(err)
	for _, f := range forecast {
		fmt.Println(f.Message.NotificationType, f.Verdict.Action, f.Verdict.Reason, f.Verdict.To)
	}
	// Output:
	// news   qa@school.example
	// offer Skip NoOffersOnSundays
}

func orPanic(err error) {
	if err != nil {
		panic(err)
	}
}
