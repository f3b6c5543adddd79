package survey_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey"
)

func newPoller(h *host) *belfry.Poller { return belfry.NewPoller(h.store, nil, h.survey) }

// everything is all that the store holds about surveys, as text.
func (h *host) everything() string {
	h.t.Helper()
	var b strings.Builder
	err := h.store.InTx(h.t.Context(), func(tx storage.Tx) error {
		b.Reset()
		for _, s := range slices.Concat(survey.Schemas(), outbox.Schemas(), []*driver.Schema{&audit.Table.Schema}) {
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
		Record: storage.Record{Key: "survey-response-completed-" + done, Type: "survey/response-completed"}, Payload: answers,
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
		if n, err := h.survey.Support().Erase(h.t.Context(), "", canaries[1], support); n != 2 || err != nil {
			h.t.Fatalf("%d erased, %v", n, err)
		}
		for _, canary := range canaries {
			if strings.Contains(h.everything(), canary) {
				h.t.Errorf("%s is left:\n%s", canary, h.everything())
			}
		}
		if n, err := h.survey.Support().Erase(h.t.Context(), "", canaries[1], support); n != 0 || err != nil {
			h.t.Errorf("erased again: %d, %v", n, err)
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
			if got := h.actions("", row.Key); len(got) != 1 || !strings.HasPrefix(got[0], "Erase by kim") {
				h.t.Errorf("the audit says %v", got)
			}
		}
		sent := len(h.sent())
		h.clock.Add(90 * 24 * time.Hour)
		h.drain()
		for _, m := range h.sent()[sent:] {
			if m.ID != other {
				h.t.Errorf("%s was sent", m.ID)
			}
		}
		if row := h.instance(other); row.CustomerRef != "cust-123" || string(row.Metadata) != visit {
			h.t.Errorf("another customer: %+v", row)
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
			if _, err := survey.New(f.Spy, nil).Support().Erase(h.t.Context(), "", canaries[1], support); !errors.Is(err, errCrash) {
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

func TestAnErasureNeedsACustomerAndAReason(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		b := batch(visit)
		b.Items[0].Recipient.CustomerRef = ""
		id := h.take(b).Items[0].Instances[0].PublicID
		if _, err := h.survey.Support().Erase(h.t.Context(), "", "", support); err == nil || !strings.Contains(err.Error(), "no customer is named") {
			h.t.Errorf("nobody: %v", err)
		}
		if _, err := h.survey.Support().Erase(h.t.Context(), "", "cust-123", survey.By{Actor: "kim"}); err == nil {
			h.t.Error("no reason was given")
		}
		if row := h.instance(id); row.RecipientAddress == "" {
			h.t.Error("an instance without a customer was erased")
		}
	})
}
