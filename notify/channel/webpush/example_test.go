package webpush_test

import (
	"context"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/webpush"
	"github.com/belfry-go/belfry/storage/memory"
)

func ExampleNew() {
	subscription, trust, done := webpush.StandIn() // in earnest what a browser has sent, and no Trusted
	defer done()
	push, err := webpush.New("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94", "mailto:office@school.example", &webpush.Options{Trusted: []string{"127.0.0.1"}, TLSConfig: trust})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = push.Close() }()
	ctx, store := context.Background(), memory.New(&memory.Options{Clock: clock.NewMock()})
	out := notify.New(store, nil, push)
	out.Register(notify.Type{Name: "gate", Renderer: notify.Template{Subject: "Your gate has changed"}, Validity: time.Hour, InDoubt: notify.Resend})
	_, err = out.Notify(ctx, notify.Job{Type: "gate", RowKey: "gate-12", Recipients: []notify.Recipient{{Ref: "sam", Channel: "push:webpush", Address: subscription}}})
	fmt.Println(err, belfry.NewPoller(store, nil, out).Drain(ctx))
	// Output:
	// Your gate has changed 3600
	// <nil> <nil>
}
