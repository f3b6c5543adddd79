package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/notifytest"
	"github.com/belfry-go/belfry/storage"
)

// A provider refuses the credentials, so that the channel is out until a probe gets
// through.
func ExampleSupport_Outages() {
	ctx := context.Background()
	store, clk := newStore()
	revoked := channel.Transient("401", 0, nil).Blame(channel.FaultAccount)
	out := notify.New(store, &notify.Options{Logger: quiet}, notifytest.Scripted(revoked).As("email:sendgrid"))
	out.Register(notify.Type{Name: "welcome", Renderer: notify.Template{Subject: "Welcome"}})
	poller := belfry.NewPoller(store, nil, out)
	_, err := out.Notify(ctx, notify.Job{
		Type: "welcome", PartitionKey: "customer", RowKey: "17",
		Recipients: []notify.Recipient{{Ref: "17", Channel: "email:sendgrid", Address: "sam@example.com"}},
	})
	fmt.Println(err, poller.Drain(ctx))
	outages, err := out.Support().Outages(ctx, "")
	for _, o := range outages {
		fmt.Println(o.Channel, "is out:", o.Class, o.Code, "since", o.Since.Format(time.Kitchen))
	}
	clk.Add(time.Hour) // the key is mended meanwhile
	fmt.Println(err, poller.Drain(ctx))
	outages, err = out.Support().Outages(ctx, "")
	fmt.Println(len(outages), err)
	// Output:
	// <nil> <nil>
	// email:sendgrid is out: Transient 401 since 8:00AM
	// <nil> <nil>
	// 0 <nil>
}

// A code is worth nothing after ten minutes, and this job's is worth even less.
func ExampleType_validity() {
	ctx := context.Background()
	store, clk := newStore()
	mails := notifytest.NewRecorder().As("email:print")
	out := notify.New(store, nil, mails)
	out.Register(notify.Type{Name: "code", Renderer: notify.Template{Subject: "Your code is {{.Code}}"}, Validity: 10 * time.Minute})
	poller := belfry.NewPoller(store, nil, out)
	code := func(rowKey string, until time.Time) notify.Job {
		return notify.Job{
			Type: "code", PartitionKey: "login", RowKey: rowKey, ValidUntil: until, EventData: json.RawMessage(`{"Code":"1234"}`),
			Recipients: []notify.Recipient{{Ref: rowKey, Channel: "email:print", Address: rowKey + "@example.com"}},
		}
	}
	for _, job := range []notify.Job{code("sam", time.Time{}), code("kim", morning.Add(time.Minute))} {
		if _, err := out.Notify(ctx, job); err != nil {
			panic(err)
		}
	}
	everything := notify.Extent{Everywhere: true}
	by := notify.By{Actor: "support", Reason: "a look first"}
	fmt.Println(out.Support().Pause(ctx, everything, time.Time{}, by), poller.Drain(ctx))
	clk.Add(5 * time.Minute)
	fmt.Println(out.Support().Resume(ctx, everything, by), poller.Drain(ctx))
	messages, _, err := out.Support().AllMessages(ctx, "", storage.Page{})
	for _, m := range messages {
		fmt.Println(m.RecipientRef, m.Status)
	}
	fmt.Println(err)
	// Unordered output:
	// <nil> <nil>
	// <nil> <nil>
	// sam SentToProvider
	// kim Expired
	// <nil>
}
