package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/notifytest"
	"github.com/belfry-go/belfry/storage"
)

// The provider's answer is lost: nobody can tell whether the message went out.
// It waits on hold, until a person has looked and decides.
func ExampleSupport_Resolve() {
	ctx := context.Background()
	store, clk := newStore()
	out := notify.New(store, nil, notifytest.Failing(notify.Unknown("reply-lost", errors.New("connection reset"))))
	out.Register(notify.Type{Name: "invoice-due", Renderer: notify.Template{Subject: "Invoice {{.Number}} is due"}})
	job := notify.Job{
		Type:         "invoice-due",
		PartitionKey: "customer-17", RowKey: keys.AutomationRowKey("invoice 2026-114 is due"),
		EventData:  json.RawMessage(`{"Number":"2026-114"}`),
		Recipients: []notify.Recipient{{Ref: "17", Channel: "email:test", Address: "sam@example.com"}},
	}
	if _, err := out.Notify(ctx, job, clk.Now()); err != nil {
		panic(err)
	}
	if err := belfry.NewPoller(store, nil, out).Drain(ctx); err != nil {
		panic(err)
	}
	held, _, err := out.Support().Held(ctx, "", notify.HoldInDoubt, storage.Page{})
	if err != nil {
		panic(err)
	}
	fmt.Println(held[0].Status, held[0].ReasonCode)

	by := notify.By{Actor: "support", Reason: "the provider's own log has it"}
	fmt.Println(out.Support().Resolve(ctx, "", held[0].Key, notify.DecideSent, by))
	messages, _, err := out.Support().Messages(ctx, "", job.RowKey, storage.Page{})
	fmt.Println(messages[0].Status, messages[0].Resolution, err)
	// Output:
	// OutcomeUnknown reply-lost
	// <nil>
	// SentToProvider Support <nil>
}
