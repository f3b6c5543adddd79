package notify_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/notifytest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/sqlite"
)

// customer is one of a host's own.
type customer struct{ ID, Name, Email string }

// confirm asks for the mail about a booking. Said twice, it changes nothing.
func confirm(ctx context.Context, out *notify.Notifier, booking string, c customer) error {
	row, err := keys.NotificationEvent{
		EntityType: "booking", Entity: booking, EventType: "made", EventID: booking, NotificationType: "booking-confirmed",
	}.Key()
	if err != nil {
		return err
	}
	data, err := json.Marshal(map[string]string{"Booking": booking})
	if err != nil {
		return err
	}
	job := notify.Job{
		Type:         "booking-confirmed",
		PartitionKey: booking, RowKey: row, EntityType: "booking", Entity: booking, EventData: data,
		Recipients: []notify.Recipient{{Ref: c.ID, Channel: "email:sendgrid", Address: c.Email, Name: c.Name}},
	}
	_, err = out.Notify(ctx, job) // at once
	return err
}

// book is what a handler does: its own row and the mail, in one transaction.
func book(ctx context.Context, store *sqlite.Store, out *notify.Notifier, booking string, c customer) error {
	return store.InHostTx(ctx, func(ctx context.Context, tx *sql.Tx, bound storage.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO booking VALUES (?, ?)", booking, c.ID); err != nil {
			return err
		}
		return confirm(ctx, out.WithTx(bound), booking, c)
	})
}

// A booking that is rolled back is not confirmed; one that is made is, once.
func ExampleNotifier_WithTx() {
	dir, err := os.MkdirTemp("", "belfry")
	orPanic(err)
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, clk := context.Background(), clock.NewMock()
	clk.Set(morning)
	store, err := sqlite.Open(ctx, filepath.Join(dir, "app.db"), &sqlite.Options{Clock: clk})
	orPanic(err)
	defer store.Close()
	_, err = store.DB().ExecContext(ctx, "CREATE TABLE booking (id TEXT PRIMARY KEY, customer TEXT)")
	orPanic(err)
	out := notify.New(store, nil, channel.Func("email:sendgrid", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		fmt.Println(m.To, "-", m.Subject)
		return channel.Receipt{}, nil
	}))
	out.Register(notify.Type{Name: "booking-confirmed", Renderer: notify.Template{Subject: "Booking {{.Booking}} is confirmed"}})

	sam := customer{"17", "Sam", "sam@example.com"}
	fmt.Println(book(ctx, store, out, "7", sam))
	fmt.Println(book(ctx, store, out, "7", sam) != nil) // the booking exists
	fmt.Println(belfry.NewPoller(store, nil, out).Drain(ctx))
	// Output:
	// <nil>
	// true
	// sam@example.com - Booking 7 is confirmed
	// <nil>
}

// A provider that is busy for a moment costs a delay, and no second mail.
func TestAConfirmationIsTriedAgainAndArrivesOnce(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, clk := newStore()
	mails := notifytest.Scripted(channel.Transient("throttled", 0, nil)).As("email:sendgrid") // refuses once
	out := notify.New(store, nil, mails)
	out.Register(notify.Type{Name: "booking-confirmed", Renderer: notify.Template{Subject: "Booking {{.Booking}}"}})
	if err := confirm(ctx, out, "7", customer{"17", "Sam", "sam@example.com"}); err != nil {
		t.Fatal(err)
	}
	poller := belfry.NewPoller(store, nil, out)
	for range 2 {
		if err := poller.Drain(ctx); err != nil {
			t.Fatal(err)
		}
		clk.Add(10 * time.Minute)
	}
	mails.Sent(t, 1)
	if m := mails.To(t, "sam@example.com"); m.Subject != "Booking 7" || m.Attempt != 2 {
		t.Errorf("message is %+v", m)
	}
}

// On the way here the old code sends, and a channel that only logs has its shadow:
// what is in the shadow is not sent again by the new code.
func TestWhatTheShadowHasIsNotSentAgain(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, _ := newStore()
	shadow, mails := notifytest.NewRecorder().As("email:shadow"), notifytest.NewRecorder().As("email:sendgrid")
	out := notify.New(store, nil, shadow, mails)
	out.Register(notify.Type{Name: "booking-confirmed", Renderer: notify.Template{Subject: "Booking {{.EventData}}"}})
	ask := func(booking, channel string) {
		t.Helper()
		job := notify.Job{
			Type: "booking-confirmed", PartitionKey: booking, RowKey: "made " + booking, EventData: json.RawMessage(booking),
			Recipients: []notify.Recipient{{Ref: "17", Channel: channel, Address: "sam@example.com"}},
		}
		if _, err := out.Notify(ctx, job); err != nil {
			t.Fatal(err)
		}
		if err := belfry.NewPoller(store, nil, out).Drain(ctx); err != nil {
			t.Fatal(err)
		}
	}
	ask("7", "email:shadow")
	ask("7", "email:sendgrid") // the request is repeated, and the new code answers it
	ask("8", "email:sendgrid")
	shadow.Sent(t, 1)
	mails.Sent(t, 1)
	if m := mails.To(t, "sam@example.com"); m.Subject != "Booking 8" {
		t.Errorf("message is %+v", m)
	}
}

// units is a catalogue by business unit and type.
type units map[string]notify.NotificationOption

func (u units) Options(_ context.Context, asked []notify.Question) ([]notify.NotificationOption, error) {
	out := make([]notify.NotificationOption, len(asked))
	for i, q := range asked {
		out[i] = u[q.BusinessUnit+"/"+q.Type] // the zero value: nothing is sent
	}
	return out, nil
}

// accounts are channels by tenant.
type accounts map[notify.Scope]channel.Channel

func (accounts) Keys() []string { return []string{"email:sendgrid"} }

func (a accounts) Channel(_ context.Context, scope notify.Scope, _ string) (channel.Channel, error) {
	return a[scope], nil
}

// A unit has subscribed somebody, and a tenant sends by an account of its own.
func ExampleChannelSource() {
	ctx := context.Background()
	store, _ := newStore()
	account := func(name string) channel.Channel {
		return channel.Func("email:sendgrid", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			fmt.Println(name, "sends to", m.To)
			return channel.Receipt{}, nil
		})
	}
	ann := notify.Recipient{Ref: "ann", Channel: "email:sendgrid", Address: "ann@example.com"}
	out := notify.New(store, &notify.Options{
		Concurrency: 1,
		Catalogue:   units{"north/incident": {Seeded: true, Enabled: true, Subscribers: []notify.Recipient{ann}}},
		Channels:    accounts{"acme": account("acme's account")},
	}, account("our account"))
	out.Register(notify.Type{Name: "incident", Renderer: notify.Template{Subject: "Incident {{.EventData}}"}})
	for _, scope := range []notify.Scope{"acme", "other"} {
		job := notify.Job{
			Scope: scope, Type: "incident", PartitionKey: "3", RowKey: "submitted",
			BusinessUnit: "north", EventData: json.RawMessage("3"),
		}
		_, err := out.Notify(ctx, job)
		orPanic(err)
	}
	orPanic(belfry.NewPoller(store, nil, out).Drain(ctx))
	// Unordered output:
	// acme's account sends to ann@example.com
	// our account sends to ann@example.com
}

// The host hears what became of messages; what it could not take is told again.
func ExampleNotifier_Subscribe() {
	ctx := context.Background()
	store, _ := newStore()
	out := notify.New(store, nil, notifytest.Failing(channel.Permanent("550", nil)))
	out.Subscribe(notify.StatusFunc("crm", func(_ context.Context, c notify.StatusChange) error {
		fmt.Println(c.Kind, c.RecipientRef, c.Reason)
		return nil
	}))
	poller := belfry.NewPoller(store, nil, out)
	orPanic(poller.Drain(ctx)) // from the first poll on changes are kept for it

	_, err := out.EnsureOutgoingMessage(ctx, nil, notify.OutgoingMessage{
		Channel: "email:test", PartitionKey: "1", NotificationType: "news",
		RecipientRef: "17", Address: "nobody@example.com",
	})
	orPanic(err)
	orPanic(poller.Drain(ctx))
	list, _, err := out.Support().DeadLetters(ctx, "", "crm", storage.Page{})
	fmt.Println(len(list), err)
	n, err := out.Support().ReplayDeadLetters(ctx, "", "crm", notify.By{Actor: "sam", Reason: "the CRM is back"}, &notify.ActionOptions{DryRun: true})
	fmt.Println(n, err)
	// Output:
	// Failed 17 550
	// 0 <nil>
	// 0 <nil>
}

func orPanic(err error) {
	if err != nil {
		panic(err)
	}
}
