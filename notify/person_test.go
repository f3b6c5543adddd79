package notify_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/notifytest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

func TestAllThatAPersonGotIsListedNewestFirst(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		ctx := t.Context()
		out := notify.New(store, &notify.Options{HashKey: hashKeyOf("key")})
		send := func(scope storage.Scope, job, ref, address string) {
			t.Helper()
			clk.Add(time.Minute)
			_, err := out.EnsureOutgoingMessage(ctx, nil, notify.OutgoingMessage{
				Scope: scope, Channel: "email:smtp", PartitionKey: job, NotificationType: "news", RecipientRef: ref, Address: address,
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for i := range 5 {
			job := fmt.Sprint("job-", i)
			send("north", job, "sam", "sam@example.com")
			send("north", job, "ann", "sam@example.com") // names somebody else
			send("north", job, "", "other@example.com")
			send("north", job, "", "sam@EXAMPLE.com")
			send("south", job, "sam", "sam@example.com")
		}
		for name, c := range map[string]struct {
			who  notify.Recipient
			want []string
		}{
			"by reference": {notify.Recipient{Ref: "sam", Channel: "email:smtp", Address: "sam@example.com"}, []string{"job-4", "job-3", "job-2", "job-1", "job-0"}},
			"by address":   {notify.Recipient{Channel: "email:other", Address: " sam@example.com"}, []string{"job-4", "job-3", "job-2", "job-1", "job-0"}},
			"nobody":       {notify.Recipient{Ref: "bob"}, nil},
		} {
			var got []string
			p := storage.Page{Limit: 2}
			for more := true; more; more = p.After != "" {
				page, next, err := out.Support().MessagesOf(ctx, "north", c.who, p)
				if err != nil {
					t.Fatal(name, err)
				}
				for _, m := range page {
					if m.RecipientRef != c.who.Ref || m.Scope != "north" {
						t.Errorf("%s: of %q in %q", name, m.RecipientRef, m.Scope)
					}
					got = append(got, m.PartitionKey)
				}
				p.After = next
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%s: %v", name, got)
			}
		}
		if _, _, err := out.Support().MessagesOf(ctx, "north", notify.Recipient{}, storage.Page{}); err == nil {
			t.Error("nobody is named, and there is no error")
		}
	})
}

// However an address was spelled when a message was asked for, and however it is spelled
// in the question: one mailbox is one recipient, who gets one message.
func TestAnAddressIsOneRecipientInAnySpelling(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		ctx, mails := t.Context(), notifytest.NewRecorder()
		out := notify.New(store, &notify.Options{HashKey: hashKeyOf("key")}, mails)
		out.Register(notify.Type{Name: "news", Renderer: notify.Template{Text: "hello"}})
		spellings := []string{"sam.oak@example.com", "Sam.Oak@Example.com", "SAM.OAK@EXAMPLE.COM"}
		for i, address := range spellings {
			clk.Add(time.Minute)
			_, err := out.EnsureOutgoingMessage(ctx, nil, notify.OutgoingMessage{
				Channel: mails.Key(), PartitionKey: fmt.Sprint("job-", i), NotificationType: "news", Address: address,
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		var both []notify.Recipient
		for _, address := range spellings {
			both = append(both, notify.Recipient{Channel: mails.Key(), Address: address})
		}
		job := notify.Job{Type: "news", PartitionKey: "course", RowKey: "7", Recipients: both}
		if _, err := out.Notify(ctx, job); err != nil {
			t.Fatal(err)
		}
		if err := belfry.NewPoller(store, nil, out).Drain(ctx); err != nil {
			t.Fatal(err)
		}
		for _, address := range spellings {
			got, _, err := out.Support().MessagesOf(ctx, "", notify.Recipient{Channel: mails.Key(), Address: address}, storage.Page{})
			if err != nil || len(got) != len(spellings)+1 {
				t.Errorf("%s: %d messages, %v", address, len(got), err)
			}
		}
		given := 0 // a mail goes to the spelling that was given
		for _, m := range mails.Messages() {
			if m.To == "Sam.Oak@example.com" {
				given++
			}
		}
		if all := mails.Messages(); len(all) != len(spellings)+1 || given != 1 {
			t.Errorf("%d mails, %d to the second spelling", len(all), given)
		}
	})
}

// A message is known by our id and by the provider's, in its own tenant.
func TestAMessageIsFoundByOurIDAndByTheProviders(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		got, err := h.EnsureOutgoingMessage(t.Context(), nil, notify.OutgoingMessage{
			Scope: "north", Channel: channelKey, PartitionKey: "1", NotificationType: "visit", RecipientRef: "sam", Address: "sam@example.com",
		})
		if err != nil {
			t.Fatal(err)
		}
		find := func(scope storage.Scope, id string) (keys []string) {
			rows, err := h.Support().MessagesByID(t.Context(), scope, id)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range rows {
				keys = append(keys, m.Key)
			}
			return keys
		}
		if found := find("north", "accepted"); found != nil {
			t.Error("before its call: ", found)
		}
		h.drain()
		for _, id := range []string{got[0].MessageID, "accepted"} {
			if found := find("north", id); len(found) != 1 || found[0] != got[0].Key {
				t.Errorf("%s: %v", id, found)
			}
			if found := find("south", id); found != nil {
				t.Error("another tenant finds ", found)
			}
		}
		if _, err := h.Support().MessagesByID(t.Context(), "north", ""); err == nil {
			t.Error("no id is not an error")
		}
	})
}

func ExampleSupport_MessagesOf() {
	ctx, store := context.Background(), memory.New(nil)
	out := notify.New(store, nil)
	for _, job := range []string{"invoice-1", "invoice-2"} {
		_, err := out.EnsureOutgoingMessage(ctx, nil, notify.OutgoingMessage{
			Channel: "email:smtp", PartitionKey: job, NotificationType: "invoice", RecipientRef: "sam", Address: "sam@example.com",
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	messages, _, err := out.Support().MessagesOf(ctx, "", notify.Recipient{Ref: "sam"}, storage.Page{})
	for _, m := range messages {
		fmt.Println(m.PartitionKey, m.Status)
	}
	fmt.Println(err)
	// Output:
	// invoice-2 Created
	// invoice-1 Created
	// <nil>
}

// From the first moment a job is found by whom it is for; from then on its messages are.
func TestAJobIsFoundByItsPersonUntilItHasMessages(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.dispatch(visit("1", person("sam")), visit("2", person("kim")), visit("3", person("kim"), person("sam")), visit("4", person("sam")))
		find := func(r notify.Recipient) (found []string) {
			p := storage.Page{Limit: 2}
			for more := true; more; more = p.After != "" {
				jobs, next, err := h.Support().JobsOf(t.Context(), "tenant", r, p)
				if err != nil || len(jobs) > 2 {
					t.Fatal(jobs, err)
				}
				for _, j := range jobs {
					found = append(found, j.Entity)
				}
				p.After = next
			}
			return found
		}
		h.same("by Ref", []string{"4", "3", "1"}, find(notify.Recipient{Ref: "sam"}))
		h.same("nobody", []string(nil), find(notify.Recipient{Ref: "bob"}))
		h.same("who names another Ref", []string(nil), find(notify.Recipient{Channel: channelKey, Address: "sam@example.com"}))
		stranger := person("")
		stranger.Address = "Eve@example.com"
		h.dispatch(visit("5", stranger))
		h.same("by address", []string{"5"}, find(notify.Recipient{Channel: channelKey, Address: "eve@EXAMPLE.com"}))
		h.drain()
		h.same("once there are messages", []string(nil), find(notify.Recipient{Ref: "sam"}))
	})
}
