package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/notifytest"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

var morning = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func newStore() (*memory.Store, *clock.Mock) {
	clk := clock.NewMock()
	clk.Set(morning)
	return memory.New(&memory.Options{Clock: clk}), clk
}

// A message is ensured twice and goes out once.
func ExampleNotifier() {
	ctx := context.Background()
	store, _ := newStore()
	out := notify.New(store, nil, channel.Func("email:print", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		fmt.Println(m.To, "-", m.Subject)
		return channel.Receipt{}, nil
	}))
	out.Register(notify.Type{Name: "invoice-due", Renderer: notify.Template{Subject: "Invoice {{.Number}} is due"}})

	job := notify.Job{
		Type:         "invoice-due",
		PartitionKey: "customer-17", RowKey: keys.AutomationRowKey("invoice 2026-114 is due"),
		EventData:  json.RawMessage(`{"Number":"2026-114"}`),
		Recipients: []notify.Recipient{{Ref: "17", Channel: "email:print", Address: "sam@example.com"}},
	}
	for range 2 {
		ensured, err := out.Notify(ctx, job)
		if err != nil {
			panic(err)
		}
		fmt.Println(ensured.Outcome)
	}
	fmt.Println(belfry.NewPoller(store, nil, out).Drain(ctx))
	// Output:
	// Created
	// Unchanged
	// sam@example.com - Invoice 2026-114 is due
	// <nil>
}

// Another meaning under a key that is taken is a conflict: what is stored stays.
func ExampleConflictError() {
	ctx := context.Background()
	store, _ := newStore()
	out := notify.New(store, nil)
	job := notify.Job{Type: "invoice-due", PartitionKey: "customer-17", RowKey: "114", Entity: "invoice 114"}
	other := job
	other.Entity = "invoice 115"
	_, err := out.EnsureNotificationJob(ctx, nil, job)
	fmt.Println(err)
	_, err = out.EnsureNotificationJob(ctx, nil, other)
	var conflict *notify.ConflictError
	fmt.Println(errors.As(err, &conflict), conflict.Field, conflict.Stored, conflict.Wanted)
	// Output:
	// <nil>
	// true Entity invoice 114 invoice 115
}

// The account is closed, and a server of our own takes its mail.
func ExampleFailover() {
	ctx := context.Background()
	store, _ := newStore()
	account := notifytest.Failing(channel.Transient("401", 0, nil).Blame(channel.FaultAccount)).As("email:sendgrid")
	server := notifytest.NewRecorder().As("email:smtp")
	out := notify.New(store, nil, notify.Failover(account, server))
	out.Register(notify.Type{Name: "welcome", Renderer: notify.Template{Subject: "Welcome"}})
	for _, who := range []string{"sam", "kim"} {
		job, err := out.Notify(ctx, notify.Job{
			Type: "welcome", PartitionKey: who, RowKey: keys.AutomationRowKey("welcome " + who),
			Recipients: []notify.Recipient{{Ref: who, Channel: "email:sendgrid", Address: who + "@example.com"}},
		})
		orPanic(err)
		orPanic(belfry.NewPoller(store, nil, out).Drain(ctx))
		messages, _, err := out.Support().Messages(ctx, "", job.RowKey, storage.Page{})
		orPanic(err)
		fmt.Println(messages[0].Address, messages[0].Status, "via", messages[0].Via)
	}
	fmt.Println("calls:", account.Calls(), "and", server.Calls())
	// Output:
	// sam@example.com SentToProvider via email:smtp
	// kim@example.com SentToProvider via email:smtp
	// calls: 1 and 2
}

// HTML escapes what is put in.
func ExampleTemplate() {
	t := notify.Template{Subject: "{{.Source.ID}} expires", HTML: "<p>Dear {{.Recipient.Name}}</p>"}
	c, err := t.Render(context.Background(), notify.Job{EventData: json.RawMessage(`{"Source":{"ID":"first-aid"}}`)}, notify.Recipient{Name: "<sam>"})
	fmt.Println(c.Subject, c.HTML, err)
	// Output:
	// first-aid expires <p>Dear &lt;sam&gt;</p> <nil>
}

// An inbox is counted for the badge, and marked as its user reads.
func ExampleInbox_Mark() {
	ctx := context.Background()
	out := notify.New(memory.New(nil), nil)
	for day := 1; day <= 2; day++ {
		_, err := out.EnsureUserMessage(ctx, nil, notify.UserMessage{
			Type: "room", PartitionKey: "user:ada", JobPartitionKey: "class", JobRowKey: fmt.Sprint(day),
			Content: notify.Content{Subject: fmt.Sprint("Day ", day)}, SourceOn: time.Date(2026, 3, day, 9, 0, 0, 0, time.UTC),
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	rows, _, _ := out.Inbox("", "user:ada").Messages(ctx, storage.Page{})
	fmt.Println(rows[0].Content.Subject)
	fmt.Println(out.Inbox("", "user:ada").Mark(ctx, notify.MarkRead, rows[0].RowKey))
	fmt.Println(out.Inbox("", "user:ada").Count(ctx))
	// Output:
	// Day 2
	// 1 <nil>
	// {1 1} <nil>
}

// The provider's answer is lost: it is unknown whether the message went out.
// It waits on hold, until a person has looked and decides.
func ExampleSupport_Resolve() {
	ctx := context.Background()
	store, clk := newStore()
	out := notify.New(store, nil, notifytest.Failing(channel.Unknown("reply-lost", errors.New("connection reset"))))
	out.Register(notify.Type{Name: "invoice-due", Renderer: notify.Template{Subject: "Invoice {{.Number}} is due"}})
	job := notify.Job{
		Type:         "invoice-due",
		PartitionKey: "customer-17", RowKey: keys.AutomationRowKey("invoice 2026-114 is due"),
		EventData:  json.RawMessage(`{"Number":"2026-114"}`),
		Recipients: []notify.Recipient{{Ref: "17", Channel: "email:test", Address: "sam@example.com"}},
	}
	if _, err := out.NotifyAt(ctx, job, clk.Now()); err != nil {
		panic(err)
	}
	if err := belfry.NewPoller(store, nil, out).Drain(ctx); err != nil {
		panic(err)
	}
	held, _, err := out.Support().Held(ctx, "", reasons.OutcomeUnknown, storage.Page{})
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

// A renderer makes a file for each recipient and attaches it.
func ExampleAttach() {
	ctx := context.Background()
	store, _ := newStore()
	out := notify.New(store, nil, channel.Func("email:print", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		for _, a := range m.Attachments {
			fmt.Printf("%s: %s (%s): %s\n", m.To, a.Name, a.MediaType, a.Data)
		}
		return channel.Receipt{}, nil
	}))
	out.Register(notify.Type{Name: "grades", Renderer: notify.RendererFunc(func(ctx context.Context, _ notify.Job, to notify.Recipient) (notify.Content, error) {
		file := strings.NewReader("name,grade\n" + to.Name + ",A")
		grades, err := notify.Attach(ctx, store.Blobs(), "grades.csv", "text/csv", "", file)
		return notify.Content{Subject: "Your grades", Text: "Enclosed.", Attachments: []notify.AttachmentRef{grades}}, err
	})})

	job := notify.Job{
		Type: "grades", PartitionKey: "class-3b", RowKey: "2026-1",
		Recipients: []notify.Recipient{{Ref: "17", Channel: "email:print", Address: "sam@example.com", Name: "Sam"}},
	}
	if _, err := out.Notify(ctx, job); err != nil {
		panic(err)
	}
	fmt.Println(belfry.NewPoller(store, nil, out).Drain(ctx))
	// Output:
	// sam@example.com: grades.csv (text/csv): name,grade
	// Sam,A
	// <nil>
}

// Reports of a provider come in any order and more than once. A bounce that lasts
// suppresses the address, until a person lifts that.
func ExampleNotifier_Track() {
	ctx := context.Background()
	store, _ := newStore()
	out := notify.New(store, nil, notifytest.NewRecorder())
	made, err := out.EnsureOutgoingMessage(ctx, nil, notify.OutgoingMessage{
		Channel: "email:test", PartitionKey: "invoices", NotificationType: "invoice-due",
		RecipientRef: "17", Address: "sam@example.com",
	})
	if err != nil {
		panic(err)
	}
	if err := belfry.NewPoller(store, nil, out).Drain(ctx); err != nil {
		panic(err)
	}
	says := func(id string, kind channel.StatusKind) {
		rep, err := out.Track(ctx, channel.StatusEvent{
			Provider: "test", EventID: id, Kind: kind, MessageID: made[0].MessageID, Code: "550", Lasting: true,
		})
		messages, _, _ := out.Support().AllMessages(ctx, "", storage.Page{})
		fmt.Println(kind, "->", messages[0].Status, rep.Applied, rep.Repeated, err)
	}
	says("e2", channel.KindOpened)
	says("e1", channel.KindDelivered)
	says("e3", channel.KindBounced)
	says("e3", channel.KindBounced)

	facts, err := out.Support().DeliveryFacts(ctx, "", made[0].MessageID)
	fmt.Println(facts[0].Kind, facts[0].Code, err)
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
