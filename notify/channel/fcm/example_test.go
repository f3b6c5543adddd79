package fcm_test

import (
	"context"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/fcm"
	"github.com/belfry-go/belfry/storage/memory"
)

func ExampleNew() {
	account, url, done := fcm.StandIn() // in earnest the file of a service account's key, and no BaseURL
	defer done()
	ctx, clk := context.Background(), clock.NewMock()
	store := memory.New(&memory.Options{Clock: clk})

	push, err := fcm.New(account, &fcm.Options{BaseURL: url})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = push.Close() }()
	out := notify.New(store, nil, push)
	gate := notify.RendererFunc(func(_ context.Context, j notify.Job, _ notify.Recipient) (notify.Content, error) {
		return notify.Content{Subject: "Your gate has changed", CollapseKey: "flight:" + j.Entity}, nil // the last one is what counts
	})
	out.Register(notify.Type{Name: "gate", Renderer: gate, Validity: time.Hour, InDoubt: notify.Resend})
	_, err = out.Notify(ctx, notify.Job{
		Type: "gate", PartitionKey: "flight-7", RowKey: "gate-12", EntityType: "flight", Entity: "7",
		Recipients: []notify.Recipient{{Ref: "sam", Channel: "push:fcm", Address: "token-of-a-phone"}, {Ref: "sam", Channel: "push:fcm", Address: "token-of-a-tablet"}},
	})
	fmt.Println(err, belfry.NewPoller(store, nil, out).Drain(ctx))
	// Output:
	// Your gate has changed {flight:7 3600s}
	// Your gate has changed {flight:7 3600s}
	// <nil> <nil>
}
