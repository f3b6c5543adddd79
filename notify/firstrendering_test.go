package notify_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// First rendering wins: the template, the address and the hash key all change
// between a run of the generator and its repeat.
//
//spec:n-025 n-046
func TestTheFirstRenderingWins(t *testing.T) {
	for name, text := range map[string]string{"in the row": "short", "in a blob": strings.Repeat("long ", 1000)} {
		t.Run(name, func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				h.Register(notify.Type{Name: "note", Renderer: renders(text)})
				job := visit("7", person("sam"), inbox("sam"))
				job.Type = "note"
				h.dispatch(job)
				h.run("notify.scheduler")
				h.run("notify.generator")
				before, inbox := h.status(notify.StatusCreated), only(h, notify.UserMessages)

				h.clk.Add(48 * time.Hour) // a blob that nobody named would be collected
				if _, err := h.store.Blobs().Collect(t.Context(), 100); err != nil {
					t.Fatal(err)
				}
				later := notify.New(h.store, &notify.Options{HashKey: []byte("another key"), FormerHashKeys: [][]byte{nil}}, h.provider)
				later.Register(notify.Type{Name: "note", Renderer: renders("changed")})
				if err := later.Contacts().RotateHashKey(t.Context(), support, nil); err != nil {
					t.Fatal(err)
				}
				h.Notifier = later
				h.regenerate()
				h.same("message", before, h.status(notify.StatusCreated))
				h.same("in-app message", inbox, only(h, notify.UserMessages))

				h.inOne(func(tx storage.Tx) error { return notify.Messages.Delete(t.Context(), tx, before) })
				h.regenerate()
				again := h.status(notify.StatusCreated)
				h.same("content of a message that was lost", before.Content, again.Content)
				h.same("its key", before.Key, again.Key)
			})
		})
	}
}

func renders(text string) notify.Renderer {
	return notify.RendererFunc(func(context.Context, notify.Job, notify.Recipient) (notify.Content, error) {
		return notify.Content{Text: text}, nil
	})
}

//spec:n-022
func TestContentHashIsCheckedOnlyWhereTheCallerSuppliesTheContent(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		ensure := func(text, hash string) error {
			_, err := h.EnsureOutgoingMessage(t.Context(), nil, notify.OutgoingMessage{
				Record: storage.Record{Type: channelKey}, PartitionKey: "job", NotificationType: "visit",
				Address: "sam@example.com", Content: notify.Content{Text: text}, ContentHash: hash,
			})
			return err
		}
		for _, text := range []string{"first", "second"} {
			if err := ensure(text, ""); err != nil {
				t.Error(err)
			}
		}
		if got := h.status(notify.StatusCreated); got.Content.Text != "first" {
			t.Errorf("content is %q", got.Content.Text)
		}
	})
}

func TestAManualMessageWithOtherContentIsAConflict(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		ensure := func(text string) error {
			c := notify.Content{Text: text}
			_, err := h.EnsureOutgoingMessage(t.Context(), nil, notify.OutgoingMessage{
				Record: storage.Record{Type: channelKey}, PartitionKey: "job", NotificationType: "visit",
				Address: "sam@example.com", Content: c, ContentHash: c.Hash(),
			})
			return err
		}
		if err := errors.Join(ensure("first"), ensure("first")); err != nil {
			t.Fatal(err)
		}
		var conflict *notify.ConflictError
		if err := ensure("second"); !errors.As(err, &conflict) || conflict.Field != "ContentHash" {
			t.Errorf("error is %v", err)
		}
		h.drain()
		if sent := h.sent(); len(sent) != 1 || sent[0].Text != "first" {
			t.Errorf("sent %v", sent)
		}
	})
}

// Communication - System architecture, "Partial failure handling": any key hash
// mismatch stops the send. Another producer has taken the job's message key.
//
//spec:f-054 n-062
func TestHashMismatchStopsTheSend(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		job := visit("7", person("sam"), person("kim"), inbox("kim"))
		squatter := notify.OutgoingMessage{
			Record: storage.Record{Scope: "tenant", Type: channelKey}, PartitionKey: job.RowKey, JobPartitionKey: job.PartitionKey,
			NotificationType: "visit", RecipientRef: "sam", Address: "sam@example.com", InputHash: "another", ScheduledOn: h.clk.Now().Add(1e12),
		}
		if _, err := h.EnsureOutgoingMessage(t.Context(), nil, squatter); err != nil {
			t.Fatal(err)
		}
		h.dispatch(job)
		h.drain()
		if n := len(h.sent()); n != 0 {
			t.Fatalf("%d calls", n)
		}
		j := only(h, notify.Jobs)
		h.same("hold", notify.SupportHold{true, notify.HoldConflict}, j.SupportHold)
		if j.ReasonCode != notify.ReasonConflict {
			t.Errorf("reason is %s", j.ReasonCode)
		}
		held, _, err := h.Support().Held(t.Context(), "tenant", notify.HoldConflict, storage.Page{})
		if err != nil || len(held) != 1 || held[0].RecipientRef != "kim" {
			t.Errorf("held messages are %v, %v", held, err)
		}
		only(h, notify.Conflicts)
	})
}
