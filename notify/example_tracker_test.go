package notify_test

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/notifytest"
	"github.com/belfry-go/belfry/storage"
)

// Reports of a provider come in any order and more than once. A bounce that lasts
// suppresses the address, until a person lifts that.
func ExampleNotifier_Track() {
	ctx := context.Background()
	store, _ := newStore()
	out := notify.New(store, nil, notifytest.NewRecorder())
	_, err := out.EnsureOutgoingMessage(ctx, nil, notify.OutgoingMessage{
		Record: storage.Record{Type: "email:test"}, PartitionKey: "invoices", NotificationType: "invoice-due",
		RecipientRef: "17", Address: "sam@example.com", MessageID: "1f0c9d",
	})
	if err != nil {
		panic(err)
	}
	if err := belfry.NewPoller(store, nil, out).Drain(ctx); err != nil {
		panic(err)
	}
	says := func(id string, kind notify.StatusKind) {
		rep, err := out.Track(ctx, notify.StatusEvent{
			Provider: "post", EventID: id, Kind: kind, MessageID: "1f0c9d", Code: "550", Lasting: true,
		})
		messages, _, _ := out.Support().AllMessages(ctx, "", storage.Page{})
		fmt.Println(kind, "->", messages[0].Status, rep.Applied, rep.Repeated, err)
	}
	says("e2", notify.KindOpened)
	says("e1", notify.KindDelivered)
	says("e3", notify.KindBounced)
	says("e3", notify.KindBounced)

	facts, err := out.Support().DeliveryFacts(ctx, "", "1f0c9d")
	fmt.Println(facts[0].Kind(), facts[0].Code, err)
	list, _, err := out.Contacts().Suppressed(ctx, "", storage.Page{})
	fmt.Println(len(list), list[0].Reason, err)

	by := notify.By{Actor: "support", Reason: "the mailbox exists again"}
	fmt.Println(out.Contacts().Unsuppress(ctx, "", notify.Destination{Method: "email", Address: "sam@example.com"}, by))
	list, _, err = out.Contacts().Suppressed(ctx, "", storage.Page{})
	fmt.Println(len(list), err)
	// Output:
	// Opened -> Opened 1 0 <nil>
	// Delivered -> Opened 1 0 <nil>
	// Bounced -> Opened 1 0 <nil>
	// Bounced -> Opened 0 1 <nil>
	// Bounced 550 <nil>
	// 1 HardBounce <nil>
	// <nil>
	// 0 <nil>
}
