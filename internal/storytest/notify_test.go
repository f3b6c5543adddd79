package storytest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

var invoices = notify.Type{Name: "invoice", Renderer: notify.Template{Subject: "Invoice {{.Number}}"}}

// desk is a process that sends invoices, by a channel that cannot tell afterwards.
func (w *world) desk(store storage.Store) *notify.Notifier {
	n := notify.New(store, &notify.Options{Logger: quiet}, &w.provider)
	n.Register(invoices)
	return n
}

func invoice(people ...string) notify.Job {
	job := notify.Job{
		Type: "invoice", PartitionKey: "customer-17", RowKey: "114",
		EventData: json.RawMessage(`{"Number":"114"}`), Entity: "invoice 114",
	}
	for _, p := range people {
		job.Recipients = append(job.Recipients, notify.Recipient{Ref: p, Channel: channelKey, Address: p + "@example.com"})
	}
	return job
}

// notify ensures a job that is due now.
func (w *world) notify(n *notify.Notifier, job notify.Job, want storage.Outcome) {
	w.Helper()
	got, err := n.Notify(w.Context(), job)
	if err != nil || got.Outcome != want {
		w.Fatal(got, err)
	}
}

// I-12: a process dies in the call. The message is held in doubt, and nobody calls
// again until a person decides; then it goes out under the same id.
func TestAPersonSettlesWhatAKilledProcessLeftInDoubt(t *testing.T) {
	each(t, func(w *world) {
		n := w.desk(w.store)
		w.notify(n, invoice("sam"), storage.Created)
		dying := newMortal(w.store, 0)
		w.inCall = dying.kill
		w.killed(dying.Spy, w.desk(dying.Spy))
		w.inCall = nil
		w.clk.Add(lease)
		w.drain(n)
		held, _, err := n.Support().Held(w.Context(), "", reasons.OutcomeUnknown, storage.Page{})
		if err != nil || len(held) != 1 || held[0].Status != notify.StatusOutcomeUnknown || held[0].MessageID != w.ids[0] {
			w.Fatal(held, err)
		}
		w.clk.Add(30 * 24 * time.Hour)
		w.drain(n)
		w.wantSent("Invoice 114 to sam@example.com")
		if err := n.Support().Resolve(w.Context(), "", held[0].Key, notify.DecideSendAgain, notify.By{Actor: "ann", Reason: "sam has no mail"}); err != nil {
			w.Fatal(err)
		}
		w.drain(n)
		w.wantSent("Invoice 114 to sam@example.com", "Invoice 114 to sam@example.com")
		if len(w.ids) != 2 || w.ids[0] != w.ids[1] {
			w.Errorf("called under %v", w.ids)
		}
		if held, _, err := n.Support().Held(w.Context(), "", reasons.OutcomeUnknown, storage.Page{}); err != nil || len(held) != 0 {
			w.Error(held, err)
		}
	})
}

// A reply is lost, and the provider's callback says what became of the mail; a
// second process has the doubt settled without a call.
func TestACallbackSettlesADoubt(t *testing.T) {
	each(t, func(w *world) {
		n := w.desk(w.store)
		w.notify(n, invoice("sam", "eve"), storage.Created)
		w.answer = func(m channel.Message) error {
			if m.To == "sam@example.com" {
				return context.DeadlineExceeded
			}
			return nil
		}
		w.drain(n)
		w.answer = nil
		rows, _, err := n.Support().Messages(w.Context(), "", "114", storage.Page{})
		if err != nil || len(rows) != 2 {
			w.Fatal(rows, err)
		}
		for _, m := range rows {
			e := channel.StatusEvent{Provider: "test", EventID: m.MessageID, Kind: channel.KindDelivered, MessageID: m.MessageID, On: w.clk.Now()}
			if _, err := w.desk(w.store).Track(w.Context(), e, e); err != nil {
				w.Fatal(err)
			}
		}
		w.clk.Add(lease)
		w.drain(n)
		rows, _, err = n.Support().Messages(w.Context(), "", "114", storage.Page{})
		if err != nil || len(rows) != 2 || rows[0].Status != notify.StatusDelivered || rows[1].Status != notify.StatusDelivered {
			w.Fatal(rows, err)
		}
		if len(w.ids) != 2 {
			w.Errorf("%d calls for two mails", len(w.ids))
		}
	})
}

// A job that is told twice goes out once, a busy provider is tried again, and
// another meaning under the same key is refused.
func TestABusyProviderGetsEachMailOnce(t *testing.T) {
	each(t, func(w *world) {
		n := w.desk(w.store)
		w.notify(n, invoice("sam", "eve"), storage.Created)
		w.notify(n, invoice("sam", "eve"), storage.Unchanged)
		other := invoice("sam", "eve")
		other.Entity = "invoice 115"
		var conflict *notify.ConflictError
		if _, err := n.Notify(w.Context(), other); !errors.As(err, &conflict) {
			w.Error(err)
		}
		busy := 3
		w.answer = func(channel.Message) error {
			if busy--; busy >= 0 {
				return channel.Transient("throttled", time.Minute, nil)
			}
			return nil
		}
		w.drain(n)
		w.wantSent()
		for range 5 {
			w.clk.Add(lease)
			w.drain(n)
		}
		w.wantSent("Invoice 114 to eve@example.com", "Invoice 114 to sam@example.com")
		w.notify(n, invoice("sam", "eve"), storage.Unchanged)
		w.drain(n)
		w.wantSent("Invoice 114 to eve@example.com", "Invoice 114 to sam@example.com")
	})
}
