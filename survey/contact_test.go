package survey_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// told tells of a visit of a customer, and returns the link's id.
func (h *host) told(customer, wip string) string {
	h.t.Helper()
	got := h.about(survey.Item{Payload: json.RawMessage(`{"wip":"` + wip + `"}`), Recipient: survey.Recipient{Address: "+964 770 000 0001", CustomerRef: customer}})
	return got.Items[0].Instances[0].PublicID
}

func (h *host) about(items ...survey.Item) survey.IngestReport {
	h.t.Helper()
	got, err := h.survey.Ingest(h.t.Context(), survey.Batch{EventKind: "service-visit-closed", Items: items})
	if err != nil {
		h.t.Fatal(err)
	}
	return got
}

// A customer who was asked is not asked by another link within the time; the reminders
// of the first link are no such, and count as its sends.
func TestACustomerWhoWasAskedIsNotAskedAgainSoSoon(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(definition("0d", []string{"1d"}, `"contact": {"notAskedWithin": "90d"}`))
		first := h.told("cust-123", "1")
		h.at(0)
		h.at(day)
		if n := len(h.sent()); n != 2 {
			h.t.Fatalf("%d messages, want the link and its reminder", n)
		}
		second, other := h.told("cust-123", "2"), h.told("cust-124", "2b")
		h.at(day + time.Minute)
		i := h.status(second, survey.StatusSkipped)
		if i.ReasonCode != reasons.AskedLately || !i.NextSendOn.IsZero() || !i.DueOn.IsZero() || i.EndedOn.IsZero() || i.UniqueHash == "" {
			h.t.Errorf("the second is %+v", i)
		}
		if text := h.explain(second).String(); !strings.Contains(text, "Skipped on") || !strings.Contains(text, "(AskedLately)") || !strings.Contains(text, "another link had asked") {
			h.t.Errorf("it is explained as\n%s", text)
		}
		h.status(other, survey.StatusSent)
		if again := h.told("cust-123", "2"); again != second {
			h.t.Errorf("the event made another link when it was told again")
		}
		if _, err := h.survey.Complete(h.t.Context(), "", second, survey.Response{Answers: json.RawMessage(`{"rate":1}`)}); !errors.Is(err, survey.ErrNoSurvey) {
			h.t.Errorf("a skipped link is answered: %v", err)
		}
		if err := h.survey.Support().Retry(h.t.Context(), "", second, someone); !errors.Is(err, survey.ErrActionRefused) {
			h.t.Errorf("a skipped link is retried: %v", err)
		}
		h.at(91*day - time.Second)
		third := h.told("cust-123", "3")
		h.at(91*day - time.Second)
		h.status(third, survey.StatusSkipped)
		h.at(91*day + time.Second)
		fourth := h.told("cust-123", "4")
		h.at(91*day + time.Second)
		h.status(fourth, survey.StatusSent)
		h.status(first, survey.StatusExpired)
		if n := h.skipped(); n != 2 {
			h.t.Errorf("%d are skipped", n)
		}
	})
}

// skipped counts the links of the survey that are skipped.
func (h *host) skipped() (n int) {
	h.t.Helper()
	rows, next, err := h.survey.Support().Instances(h.t.Context(), "", survey.Selection{SurveyID: 4523}, storage.Page{Limit: 1000})
	if err != nil || next != "" {
		h.t.Fatal(err, next)
	}
	for _, r := range rows {
		if r.Status == survey.StatusSkipped {
			n++
		}
	}
	return n
}

// A rule looks at the links of its group, or at all, of whichever surveys.
func TestAContactRuleIsOfItsGroup(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		for id, rule := range map[int64]string{1: `{"group": "sales"}`, 2: `{"group": "service", "notAskedWithin": "90d"}`, 3: `{"notAskedWithin": "90d"}`} {
			text := strings.Replace(definition("0d", nil, `"contact": `+rule), "service-visit-closed", fmt.Sprintf("kind-%d", id), 1)
			if _, err := h.survey.Publish(h.t.Context(), survey.Version{SurveyID: id, Name: "n", IntegrationID: "i", Definition: json.RawMessage(text)}); err != nil {
				h.t.Fatal(err)
			}
		}
		var got []string
		for _, kind := range []string{"kind-1", "kind-2", "kind-2", "kind-3"} {
			report, err := h.survey.Ingest(h.t.Context(), survey.Batch{EventKind: kind, Items: []survey.Item{{
				Payload: json.RawMessage(fmt.Sprintf(`{"wip":"%d"}`, len(got))), Recipient: survey.Recipient{Address: "+964 770 000 0001", CustomerRef: "cust"}}}})
			if err != nil {
				h.t.Fatal(err)
			}
			h.clock.Add(5 * time.Minute)
			h.drain()
			got = append(got, h.explain(report.Items[0].Instances[0].PublicID).Instance.Status)
		}
		if want := "Sent Sent Skipped Skipped"; strings.Join(got, " ") != want {
			h.t.Errorf("%v, want %s", got, want)
		}
	})
}

// A link that never went out keeps back no other.
func TestALinkThatWasNotSentKeepsBackNone(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(definition("0d", nil, `"contact": {"notAskedWithin": "90d"}`))
		h.fails(channel.Permanent("gone", nil))
		first := h.told("cust", "1")
		h.at(0)
		h.fails(nil)
		second := h.told("cust", "2")
		h.at(time.Hour)
		h.status(first, survey.StatusPending)
		h.status(second, survey.StatusSent)
	})
}

// Of links that come due together one is sent, however many processes send them.
func TestLinksAtOnceAskACustomerOnce(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(definition("0d", nil, `"contact": {"notAskedWithin": "90d"}`))
		const customers, links = 15, 4
		var items []survey.Item
		for n := range customers * links {
			items = append(items, survey.Item{
				Payload:   json.RawMessage(fmt.Sprintf(`{"wip":"%d"}`, n)),
				Recipient: survey.Recipient{Address: "+964 770 000 0001", CustomerRef: fmt.Sprintf("c%d", n%customers)},
			})
		}
		h.about(items...)
		services := []*survey.Service{h.survey, h.service(nil), h.service(nil)}
		for range 20 { // a link waits a minute or two for each that is before it
			var wg sync.WaitGroup
			for _, s := range services {
				wg.Go(func() {
					for {
						r, err := s.PollOnce(h.t.Context(), 7)
						if err != nil {
							h.t.Error(err)
						}
						if r.Processed == 0 || err != nil {
							return
						}
					}
				})
			}
			wg.Wait()
			h.clock.Add(time.Minute)
		}
		asked := map[string]int{}
		for _, m := range h.sent() {
			asked[m.Metadata["customerRef"]]++
		}
		if n := h.skipped(); len(asked) != customers || len(h.sent()) != customers || n != customers*(links-1) {
			h.t.Errorf("%d messages for %d of %d customers, %d skipped", len(h.sent()), len(asked), customers, n)
		}
	})
}

// A rule that knows customers by their reference takes no event without one.
func TestAContactRuleNeedsACustomer(t *testing.T) {
	inMemory(t, nil, func(h *host) {
		h.publish(definition("0d", nil, `"contact": {"notAskedWithin": "90d"}`))
		got := h.about(survey.Item{Payload: json.RawMessage(`{}`), Recipient: survey.Recipient{Address: "+964 770 000 0001"}})
		if i := got.Items[0].Instances[0]; got.Failed != 1 || i.Reason != "recipient.customerRef: is empty, and notAskedWithin knows customers by it" {
			h.t.Errorf("%+v", got)
		}
	})
}

// A sample asks about its share of events, the same on every machine; the others have
// their instance all the same.
func TestASampleIsAShareOfTheEvents(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(definition("0d", nil, `"contact": {"sample": 30}`))
		const events = 500
		var items []survey.Item
		for n := range events {
			items = append(items, survey.Item{Payload: json.RawMessage(fmt.Sprintf(`{"wip":"%d"}`, n)), Recipient: survey.Recipient{Address: "+964 770 000 0001"}})
		}
		report := h.about(items...)
		skipped := 0
		for _, item := range report.Items {
			if item.Instances[0].Reason == reasons.NotSampled {
				skipped++
			}
		}
		if report.Created != events || skipped != 352 { // of the keys of these events
			h.t.Errorf("%d created, %d of them not to be sent", report.Created, skipped)
		}
		h.at(0)
		if len(h.sent()) != events-skipped {
			h.t.Errorf("%d messages", len(h.sent()))
		}
		if again := h.about(items...); again.Skipped != events {
			h.t.Errorf("told again: %d skipped, %d created", again.Skipped, again.Created)
		}
	})
}

// A host draws lots its own way.
func TestAHostDrawsItsOwnSample(t *testing.T) {
	inMemory(t, &survey.Options{Sample: func(key string) float64 { return float64(len(key)%2) * 0.5 }}, func(h *host) {
		h.publish(definition("0d", nil, `"contact": {"sample": 50}`))
		id := h.told("cust", "1")
		i := h.explain(id).Instance
		if want := map[int]string{0: survey.StatusPending, 1: survey.StatusSkipped}[len(i.Key)%2]; i.Status != want {
			h.t.Errorf("%s, want %s", i.Status, want)
		}
		if text := h.explain(id).Now; i.Status == survey.StatusSkipped && !strings.Contains(text, "a share of its events") {
			h.t.Error(text)
		}
	})
}
