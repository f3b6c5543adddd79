package notify_test

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/notifytest"
)

// Offers go to whom they were promised: silence is not consent.
func ExampleGroup() {
	ctx := context.Background()
	store, _ := newStore()
	mails := notifytest.NewRecorder()
	out := notify.New(store, &notify.Options{Groups: []notify.Group{{Name: "offers", OptIn: true}}}, mails)
	out.Register(notify.Type{Name: "spring", Group: "offers", Renderer: notify.Template{Subject: "Spring"}})
	wants := notify.Preference{RecipientRef: "17", Group: "offers", Method: "email"}
	err := out.Contacts().SetPreferences(ctx, wants)
	fmt.Println(err)
	_, err = out.Notify(ctx, notify.Job{Type: "spring", RowKey: "spring", Recipients: []notify.Recipient{
		{Ref: "17", Channel: mails.Key(), Address: "sam@example.com"},
		{Ref: "18", Channel: mails.Key(), Address: "kim@example.com"},
	}})
	fmt.Println(err, belfry.NewPoller(store, nil, out).Drain(ctx))
	for _, m := range mails.Messages() {
		fmt.Println(m.To)
	}
	// Output:
	// <nil>
	// <nil> <nil>
	// sam@example.com
}
