package survey_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey"
)

func newPoller(h *host) *belfry.Poller { return belfry.NewPoller(h.store, nil, h.survey, h.out) }

// everything is all that the store holds about surveys, as text.
func (h *host) everything() string {
	h.t.Helper()
	var b strings.Builder
	err := h.store.InTx(h.t.Context(), func(tx storage.Tx) error {
		b.Reset()
		for _, s := range slices.Concat(survey.Schemas(), notify.Schemas(), outbox.Schemas(), audit.Schemas()) {
			rows, err := tx.Select(h.t.Context(), s, driver.Everywhere(), driver.Query{Limit: 10_000})
			if err != nil {
				return err
			}
			for _, r := range rows {
				text, err := json.Marshal(r)
				if err != nil {
					return err
				}
				fmt.Fprintf(&b, "%s %s\n", s.Name, text)
			}
		}
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return b.String()
}

// canaries are what the store holds of the customer who is erased.
var canaries = []string{"+964 770 000 0009", "cust-erased", "Canary", "tweety"}

// answeredCustomer is a customer with two instances, one of which is answered and told to a
// subscriber that is not there.
func (h *host) answeredCustomer() (open, done string) {
	h.t.Helper()
	b := batch(`{"jobType":"GR","wip":1,"CustomerName":"Canary"}`, `{"jobType":"GR","wip":2,"CustomerName":"Canary"}`)
	for i := range b.Items {
		b.Items[i].Recipient = survey.Recipient{Address: canaries[0], Locale: "ar", CustomerRef: canaries[1]}
	}
	report := h.take(b)
	open, done = report.Items[0].Instances[0].PublicID, report.Items[1].Instances[0].PublicID
	h.drain()
	answers := json.RawMessage(`{"rate": 1, "has-a-complaint": "yes", "complaint": "tweety was stolen"}`)
	if _, err := h.survey.Submit(h.t.Context(), token(h.t, h.link(done)), survey.Response{Answers: answers}); err != nil {
		h.t.Fatal(err)
	}
	event := outbox.Event{
		Key: "survey-response-completed-" + done, Topic: "survey/response-completed", Payload: answers,
	}
	if err := h.store.InTx(h.t.Context(), func(tx storage.Tx) error { return outbox.Emit(h.t.Context(), tx, event) }); err != nil {
		h.t.Fatal(err)
	}
	return open, done
}

// Nothing that is personal is left, and the events still make no new instances.
func TestACustomerIsErased(t *testing.T) {
	t.Parallel()
	eachHost(t, &survey.Options{ExpectedSubscribers: []string{"absent"}}, func(h *host) {
		h.publish(csiGR)
		open, done := h.answeredCustomer()
		other := h.ingest().Items[0].Instances[0].PublicID
		for _, canary := range canaries {
			if !strings.Contains(h.everything(), canary) {
				h.t.Fatalf("%s is not stored to begin with", canary)
			}
		}
		if err := h.erase("", canaries[1]); err != nil {
			h.t.Fatal(err)
		}
		for _, canary := range canaries {
			if strings.Contains(h.everything(), canary) {
				h.t.Errorf("%s is left:\n%s", canary, h.everything())
			}
		}
		if err := h.erase("", canaries[1]); err != nil {
			h.t.Errorf("erased again: %v", err)
		}
		b := batch(`{"jobType":"GR","wip":1}`, `{"jobType":"GR","wip":2}`)
		for i := range b.Items {
			b.Items[i].Recipient.Address = canaries[0]
		}
		if again := h.take(b); again.Items[0].Instances[0].PublicID != open || again.Items[1].Instances[0].PublicID != done {
			h.t.Errorf("told again: %+v", again)
		}
		for _, id := range []string{open, done} {
			row := h.instance(id)
			if row.DeletedOn.IsZero() || !row.DueOn.IsZero() {
				h.t.Errorf("%+v", row)
			}
			if _, err := h.survey.Link(h.t.Context(), "", id); !errors.Is(err, storage.ErrNotFound) {
				h.t.Errorf("its link: %v", err)
			}
			if got := h.actions("", row.Key); len(got) != 1 || !strings.HasPrefix(got[0], "Erase by erasure") {
				h.t.Errorf("the audit says %v", got)
			}
		}
		sent := len(h.sent())
		h.clock.Add(90 * 24 * time.Hour)
		h.drain()
		for _, m := range h.sent()[sent:] {
			if m.Metadata["publicId"] != other {
				h.t.Errorf("%s was sent", m.ID)
			}
		}
		if row := h.instance(other); row.CustomerRef != "cust-123" || string(row.Metadata) != visit {
			h.t.Errorf("another customer: %+v", row)
		}
	})
}

// What the desk wrote about a customer's response and link goes with them.
func TestTheDesksNotesAreErased(t *testing.T) {
	t.Parallel()
	eachHost(t, &survey.Options{ExpectedSubscribers: []string{"absent"}}, func(h *host) {
		h.publish(csiGR)
		open, done := h.answeredCustomer()
		by, note := h.survey.Support(), survey.By{Actor: "desk", Reason: "called cust-erased, tweety is back"}
		again := batch(`{"jobType":"GR","wip":3}`)
		again.Items[0].Recipient = survey.Recipient{Address: canaries[0], CustomerRef: canaries[1]}
		deleted := h.take(again).Items[0].Instances[0].PublicID
		h.survey.Subscribe(survey.SubscriberFunc("absent", func(context.Context, survey.ResponseCompleted) error { return survey.Permanent(errors.New("no")) }))
		h.drain()
		_, replayed := by.ReplayDeadLetters(h.t.Context(), "", "absent", note, nil)
		if err := errors.Join(by.Handle(h.t.Context(), "", done, note), by.Hold(h.t.Context(), "", open, note), replayed,
			by.Delete(h.t.Context(), "", deleted, note, &survey.DeleteOptions{Forget: true})); err != nil {
			h.t.Fatal(err)
		}
		if err := h.erase("", canaries[1]); err != nil {
			h.t.Fatal(err)
		}
		for line := range strings.Lines(h.everything()) {
			if strings.Contains(line, canaries[1]) || strings.Contains(line, canaries[3]) {
				h.t.Errorf("left: %s", line)
			}
		}
		if !strings.Contains(h.everything(), `"Handle"`) {
			h.t.Error("the audit lost that a person acted")
		}
	})
}

// An erasure that dies at any statement is repeated.
func TestAnErasureIsRepeatedAfterAnyCrash(t *testing.T) {
	t.Parallel()
	eachHost(t, &survey.Options{ExpectedSubscribers: []string{"absent"}}, func(h *host) {
		h.publish(csiGR)
		h.answeredCustomer()
		for n := int64(1); ; n++ {
			f := newFaulty(h.store, n)
			out := notify.New(f.Spy, nil)
			privacy := belfry.NewPoller(f.Spy, nil, survey.New(f.Spy, out, nil), out).Privacy()
			if _, err := privacy.Erase(h.t.Context(), "", belfry.Person{Ref: canaries[1]}, support); !errors.Is(err, errCrash) {
				if err != nil || n < 5 {
					h.t.Errorf("ended at statement %d: %v", n, err)
				}
				break
			}
		}
		for _, canary := range canaries {
			if strings.Contains(h.everything(), canary) {
				h.t.Errorf("%s is left", canary)
			}
		}
	})
}

// erase removes what is known of a customer in scope.
func (h *host) erase(scope survey.Scope, customerRef string) error {
	_, err := h.poller.Privacy().Erase(h.t.Context(), scope, belfry.Person{Ref: customerRef}, support)
	return err
}

// actions are those of the audit of an instance.
func (h *host) actions(scope survey.Scope, key string) (all []string) {
	h.t.Helper()
	err := h.store.InTx(h.t.Context(), func(tx storage.Tx) error {
		entries, err := audit.History(h.t.Context(), tx, scope, "survey_instance", key, 10)
		all = nil
		for _, e := range entries {
			all = append(all, e.Action+" by "+e.Actor+": "+e.Reason)
		}
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return all
}

// A deleted link is never sent, and its event makes no new one.
func TestADeletedInstanceIsNeverSent(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		id := h.ingest().Items[0].Instances[0].PublicID
		if err := h.survey.Support().Delete(h.t.Context(), "", id, support, nil); err != nil {
			h.t.Fatal(err)
		}
		if row := h.instance(id); !row.DueOn.IsZero() || !row.NextSendOn.IsZero() || h.stored(id).Kind != "" {
			h.t.Errorf("it waits for a send: %+v", row)
		}
		h.clock.Add(90 * 24 * time.Hour)
		h.drain()
		row := h.instance(id)
		if len(h.sent()) != 0 || !row.DueOn.IsZero() || !row.DeletedOn.Equal(start) || row.Status != survey.StatusPending {
			h.t.Errorf("%d sent, the row is %+v", len(h.sent()), row)
		}
		if again := h.ingest().Items[0]; again.Outcome != survey.Skipped || again.Instances[0].PublicID != id {
			h.t.Errorf("told again: %+v", again)
		}
		if _, err := h.survey.Link(h.t.Context(), "", id); !errors.Is(err, storage.ErrNotFound) {
			h.t.Errorf("its link: %v", err)
		}
		if diff := cmp.Diff([]string{"Delete by kim: a call of the customer"}, h.actions("", row.Key)); diff != "" {
			h.t.Error(diff)
		}
	})
}

// A host may let the event make a new instance, at once or later; the old one
// stays for whoever has its id.
func TestADeletedInstanceMayBeForgotten(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		forget := &survey.DeleteOptions{Forget: true}
		first := h.ingest().Items[0].Instances[0].PublicID
		if err := h.survey.Support().Delete(h.t.Context(), "", first, support, nil); err != nil {
			h.t.Fatal(err)
		}
		if err := h.survey.Support().Delete(h.t.Context(), "", first, support, forget); err != nil {
			h.t.Fatal(err)
		}
		second := h.ingest().Items[0]
		if err := h.survey.Support().Delete(h.t.Context(), "", second.Instances[0].PublicID, support, forget); err != nil {
			h.t.Fatal(err)
		}
		third := h.ingest().Items[0]
		if second.Outcome != survey.Created || third.Outcome != survey.Created {
			h.t.Errorf("%+v, %+v", second, third)
		}
		h.drain()
		if sent := h.sent(); len(sent) != 1 {
			h.t.Errorf("%d links sent, want that of the last", len(sent))
		}
		old := h.instance(first)
		if old.DeletedOn.IsZero() || !old.DueOn.IsZero() || old.Key == h.instance(third.Instances[0].PublicID).Key {
			h.t.Errorf("%+v", old)
		}
		want := []string{"Delete by kim: a call of the customer", "DeleteAndForget by kim: a call of the customer", "DeleteAndForget by kim: a call of the customer"}
		if diff := cmp.Diff(want, h.actions("", h.instance(third.Instances[0].PublicID).Key)); diff != "" {
			h.t.Error(diff)
		}
	})
}

func TestADeletionThatMakesNoSense(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		ctx, id := h.t.Context(), h.ingest().Items[0].Instances[0].PublicID
		if err := h.survey.Support().Delete(ctx, "", id, survey.By{Actor: "kim"}, nil); err == nil {
			h.t.Error("no reason was given")
		}
		if err := h.survey.Support().Delete(ctx, "", "unknown", support, nil); !errors.Is(err, storage.ErrNotFound) {
			h.t.Errorf("an unknown one: %v", err)
		}
		for i, want := range []error{nil, survey.ErrActionRefused} {
			if err := h.survey.Support().Delete(ctx, "", id, support, nil); !errors.Is(err, want) {
				h.t.Errorf("deletion %d: %v", i, err)
			}
		}
		for i, want := range []error{nil, survey.ErrActionRefused} {
			if err := h.survey.Support().Delete(ctx, "", id, support, &survey.DeleteOptions{Forget: true}); !errors.Is(err, want) {
				h.t.Errorf("forgetting %d: %v", i, err)
			}
		}
	})
}

// The channel has the link while somebody deletes it: that send goes out, and
// nothing after it.
func TestADeletionWhileTheLinkIsSent(t *testing.T) {
	t.Parallel()
	for _, o := range []*survey.DeleteOptions{nil, {Forget: true}} {
		t.Run(fmt.Sprintf("%+v", o), func(t *testing.T) {
			t.Parallel()
			eachHost(t, nil, func(h *host) {
				h.publish(csiGR)
				id := h.ingest().Items[0].Instances[0].PublicID
				h.through(func(ctx context.Context, m channel.Message) error {
					return h.survey.Support().Delete(ctx, "", m.Metadata["publicId"], support, o)
				})
				for range 5 {
					h.drain()
					h.clock.Add(24 * time.Hour)
				}
				row := h.instance(id)
				if len(h.sent()) != 1 || row.DeletedOn.IsZero() || !row.DueOn.IsZero() {
					h.t.Errorf("%d sends, %+v", len(h.sent()), row)
				}
			})
		})
	}
}

// through does something during each send.
func (h *host) through(during func(context.Context, channel.Message) error) {
	h.use(survey.Options{}, through(func(ctx context.Context, m channel.Message) (channel.Receipt, error) {
		if err := during(ctx, m); err != nil {
			h.t.Error(err)
		}
		return h.send(ctx, m)
	}))
}
