package notify_test

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
)

// A confirmation is a thread with what comes later about the booking, answers go to who
// made it, and an archive gets a copy.
func ExampleMail() {
	ctx := context.Background()
	store, _ := newStore()
	out := notify.New(store, &notify.Options{MailHeaders: []string{"X-Booking"}},
		channel.Func("email:print", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			fmt.Println(m.To, m.Mail.ReplyTo, m.Mail.BCC, m.Mail.References, m.Mail.Headers)
			return channel.Receipt{}, nil
		}))
	out.Register(notify.Type{Name: "booking", Renderer: notify.RendererFunc(func(_ context.Context, j notify.Job, _ notify.Recipient) (notify.Content, error) {
		return notify.Content{Subject: "Booking " + j.Entity, Mail: channel.Mail{
			ReplyTo: "Ann <ann@school.example>", BCC: []string{"archive@school.example"},
			References: []string{"booking-" + j.Entity + "@school.example"}, Headers: map[string]string{"X-Booking": j.Entity},
		}}, nil
	})})
	job := notify.Job{Type: "booking", PartitionKey: "7", RowKey: "made", EntityType: "booking", Entity: "7",
		Recipients: []notify.Recipient{{Ref: "17", Channel: "email:print", Address: "sam@example.com"}}}
	_, err := out.Notify(ctx, job)
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

// What is in the inbox is mailed after a quarter of an hour to whoever has not read it.
func ExampleType_escalateAfter() {
	ctx := context.Background()
	store, clk := newStore()
	out := notify.New(store, nil, channel.Func("email:print", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		fmt.Println(m.To, "gets", m.Subject)
		return channel.Receipt{}, nil
	}))
	out.Register(notify.Type{Name: "task", Renderer: notify.Template{Subject: "A task for {{.Recipient.Name}}"}, EscalateAfter: 15 * time.Minute})
	job := notify.Job{Type: "task", PartitionKey: "order-7", RowKey: "packed", EntityType: "order", Entity: "7", Recipients: []notify.Recipient{
		{Ref: "ann", Name: "Ann", Inbox: "user:ann", Channel: "email:print", Address: "ann@example.com"},
		{Ref: "sam", Name: "Sam", Inbox: "user:sam", Channel: "email:print", Address: "sam@example.com"},
	}}
	_, err := out.Notify(ctx, job)
	orPanic(err)
	poller := belfry.NewPoller(store, nil, out)
	orPanic(poller.Drain(ctx))

	ann := out.Inbox("", "user:ann")
	unread, _, err := ann.Messages(ctx, storage.Page{})
	orPanic(err)
	_, err = ann.Mark(ctx, notify.MarkRead, unread[0].RowKey)
	orPanic(err)

	clk.Add(15 * time.Minute)
	orPanic(poller.Drain(ctx))
	trace, err := out.Trace(ctx, "", job.Coordinates())
	fmt.Println(trace, err)
	// Output:
	// sam@example.com gets A task for Sam
	// task of order 7: Generated
	//   schedule for 2026-03-01T08:00:00Z: Dispatched
	//   inbox of ann: Read
	//   inbox of sam: Unseen
	//   email:print to ann: Skipped (Read), read in the inbox on 2026-03-01T08:00:00Z; not sent
	//   email:print to sam: SentToProvider, unread in the inbox for 15m0s; sent on 2026-03-01T08:15:00Z <nil>
}
