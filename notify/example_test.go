package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
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
//
//spec:n-003
func ExampleNotifier() {
	ctx := context.Background()
	store, _ := newStore()
	out := notify.New(store, nil, notify.ChannelFunc("email:print", func(_ context.Context, m notify.Message) (notify.Receipt, error) {
		fmt.Println(m.To, "-", m.Subject)
		return notify.Receipt{}, nil
	}))
	out.Register(notify.Type{Name: "invoice-due", Renderer: notify.Template{Subject: "Invoice {{.Number}} is due"}})

	job := notify.Job{
		Type:         "invoice-due",
		PartitionKey: "customer-17", RowKey: keys.AutomationRowKey("invoice 2026-114 is due"),
		EventData:  json.RawMessage(`{"Number":"2026-114"}`),
		Recipients: []notify.Recipient{{Ref: "17", Channel: "email:print", Address: "sam@example.com"}},
	}
	for range 2 {
		ensured, err := out.Notify(ctx, job, time.Time{})
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

// A channel says what an error means for the message.
func ExampleTransient() {
	busy := notify.Transient("throttled", time.Minute, nil)
	fmt.Println(notify.Classify(fmt.Errorf("sms: %w", busy)).Class)
	fmt.Println(notify.Classify(errors.New("bad request")).Class)
	fmt.Println(notify.Classify(context.DeadlineExceeded).Class)
	// Output:
	// Transient
	// Transient
	// Unknown
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
func ExampleNotifier_MarkInbox() {
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
	rows, _, _ := out.Inbox(ctx, "", "user:ada", storage.Page{})
	fmt.Println(rows[0].Content.Subject)
	fmt.Println(out.MarkInbox(ctx, "", "user:ada", notify.MarkRead, rows[0].RowKey))
	fmt.Println(out.CountInbox(ctx, "", "user:ada"))
	// Output:
	// Day 2
	// 1 <nil>
	// {1 1} <nil>
}
