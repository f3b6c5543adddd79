package notify_test

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// A confirmation is a thread with what comes later about the booking, answers go to who
// made it, and an archive gets a copy.
func ExampleMail() {
	ctx := context.Background()
	store, _ := newStore()
	out := notify.New(store, &notify.Options{MailHeaders: []string{"X-Booking"}},
		notify.ChannelFunc("email:print", func(_ context.Context, m notify.Message) (notify.Receipt, error) {
			fmt.Println(m.To, m.Mail.ReplyTo, m.Mail.BCC, m.Mail.References, m.Mail.Headers)
			return notify.Receipt{}, nil
		}))
	out.Register(notify.Type{Name: "booking", Renderer: notify.RendererFunc(func(_ context.Context, j notify.Job, _ notify.Recipient) (notify.Content, error) {
		return notify.Content{Subject: "Booking " + j.Entity, Mail: notify.Mail{
			ReplyTo: "Ann <ann@school.example>", BCC: []string{"archive@school.example"},
			References: []string{"booking-" + j.Entity + "@school.example"}, Headers: map[string]string{"X-Booking": j.Entity},
		}}, nil
	})})
	job := notify.Job{Type: "booking", PartitionKey: "7", RowKey: "made", EntityType: "booking", Entity: "7",
		Recipients: []notify.Recipient{{Ref: "17", Channel: "email:print", Address: "sam@example.com"}}}
	_, err := out.Notify(ctx, job, time.Time{})
	orPanic(err)
	orPanic(belfry.NewPoller(store, nil, out).Drain(ctx))
	// Output: sam@example.com Ann <ann@school.example> [archive@school.example] [booking-7@school.example] map[X-Booking:7]
}

// What is put off comes back as new.
func ExampleInbox_Snooze() {
	ctx := context.Background()
	store, clk := newStore()
	out := notify.New(store, nil)
	_, err := out.EnsureUserMessage(ctx, nil, notify.UserMessage{Type: "room", PartitionKey: "user:ada", RowKey: "1",
		SourceOn: clk.Now(), Content: notify.Content{Subject: "Class 7a is in room 12"}})
	orPanic(err)
	inbox := out.Inbox("", "user:ada")
	show := func() {
		list, _, err := inbox.Messages(ctx, storage.Page{})
		orPanic(err)
		fmt.Println(len(list), "in the inbox")
	}
	_, err = inbox.Mark(ctx, notify.MarkRead, "1")
	orPanic(err)
	_, err = inbox.Snooze(ctx, clk.Now().Add(24*time.Hour), "1")
	orPanic(err)
	show()
	clk.Add(24 * time.Hour)
	show()
	fmt.Println(inbox.Count(ctx))
	// Output:
	// 0 in the inbox
	// 1 in the inbox
	// {1 1} <nil>
}
