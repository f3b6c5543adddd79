package apns_test

import (
	"context"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/apns"
	"github.com/belfry-go/belfry/storage/memory"
)

func ExampleNew() {
	by, url, trust, done := apns.StandIn() // in earnest the key of Apple's developer site, and no BaseURL
	defer done()
	push, err := apns.New("com.example.school", by, &apns.Options{BaseURL: url, TLSConfig: trust})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = push.Close() }()
	ctx, store := context.Background(), memory.New(&memory.Options{Clock: clock.NewMock()})
	out := notify.New(store, nil, push)
	out.Register(notify.Type{Name: "gate", Renderer: notify.Template{Subject: "Your gate has changed"}, Validity: time.Hour, InDoubt: notify.Resend})
	_, err = out.Notify(ctx, notify.Job{Type: "gate", RowKey: "gate-12", Recipients: []notify.Recipient{
		{Ref: "sam", Channel: "push:apns", Address: "740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad"}}})
	fmt.Println(err, belfry.NewPoller(store, nil, out).Drain(ctx))
	// Output:
	// Your gate has changed com.example.school 3600
	// <nil> <nil>
}
