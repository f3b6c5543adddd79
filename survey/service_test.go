package survey_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// Any number of ticks may run at once, in one process and in several: each send is
// made once.
func TestTicksAtOnceSendEachLinkOnce(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		const links = 100
		h.publish(definition("0d", nil))
		var visits []string
		for n := range links {
			visits = append(visits, fmt.Sprintf(`{"wip":"%d"}`, n))
		}
		h.ingest(visits...)
		services := []*survey.Service{h.survey, h.survey, h.service(nil), h.service(nil)}
		processed := make([]int, len(services))
		var wg sync.WaitGroup
		for n, s := range services {
			wg.Go(func() {
				for {
					r, err := s.PollOnce(h.t.Context(), 10)
					if err != nil {
						h.t.Error(err)
					}
					if processed[n] += r.Processed; r.Processed == 0 || err != nil {
						return
					}
				}
			})
		}
		wg.Wait()
		calls := map[string]int{}
		for _, m := range h.sent() {
			calls[m.ID]++
		}
		sum := 0
		for _, n := range processed {
			sum += n
		}
		if len(calls) != links || len(h.sent()) != links || sum != links {
			h.t.Errorf("%d calls for %d links, %d processed", len(h.sent()), len(calls), sum)
		}
	})
}

// A tick takes at most its batch, and reports it.
func TestATickTakesAtMostItsBatch(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(definition("0d", nil))
		h.ingest(`{"wip":"1"}`, `{"wip":"2"}`, `{"wip":"3"}`)
		var got []int
		for range 3 {
			r, err := h.survey.PollOnce(h.t.Context(), 2)
			if err != nil {
				h.t.Fatal(err)
			}
			got = append(got, r.Processed)
		}
		if diff := cmp.Diff([]int{2, 1, 0}, got); diff != "" {
			h.t.Error(diff)
		}
	})
}

// A claim has to commit before its work starts, so a tick in a host's transaction is
// refused.
func TestATickInABoundTransactionIsRefused(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		err := h.store.InTx(h.t.Context(), func(tx storage.Tx) error {
			_, err := h.survey.WithTx(tx).PollOnce(h.t.Context(), 10)
			return err
		})
		if err == nil {
			h.t.Error("not refused")
		}
	})
}

// A subscriber needs nothing but the event: it holds all that the document lists,
// under the names that stay, with what the host told of the customer and of who
// filled the form in.
func TestAnEventHoldsAllThatIsKnownOfItsResponse(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		e := listen(h.survey, "bi")
		_, err := h.survey.Publish(h.t.Context(), survey.Version{
			Scope: "tenant", SurveyID: 4523, Name: "E2E CSI-GR", IntegrationID: "csi-gr", BusinessUnit: "north", Definition: json.RawMessage(csiGR),
		})
		h.same("published", error(nil), err)
		told, err := h.survey.Ingest(h.t.Context(), survey.Batch{Scope: "tenant", EventKind: "service-visit-closed", Items: []survey.Item{{
			Payload:   json.RawMessage(visit),
			Recipient: survey.Recipient{Address: "+964 770 000 0001", Locale: "ar", CustomerRef: "cust-123"},
		}}})
		h.same("ingested", error(nil), err)
		h.drain()
		_, err = h.survey.Submit(h.t.Context(), tokenOf(linkIn(h.sent()[0])), survey.Response{
			Answers: json.RawMessage(content), AgentID: "agent-7", Locale: "de", CompletedOn: start.Add(-time.Minute),
		})
		h.same("submitted", error(nil), err)
		h.drain()

		id := told.Items[0].Instances[0].PublicID
		text, err := json.Marshal(e.last)
		h.same("encoded", error(nil), err)
		var got map[string]any
		h.same("decoded", error(nil), json.Unmarshal(text, &got))
		h.same("event", map[string]any{
			"eventId": "survey-response-completed-" + id, "eventType": "response-completed", "scope": "tenant",
			"surveyId": 4523.0, "surveyVersion": 1.0, "surveyIntegrationId": "csi-gr", "businessUnit": "north",
			"instancePublicId": id, "triggerId": "csi-gr-trigger", "customerRef": "cust-123",
			"recipientAddress": "+964 770 000 0001", "recipientLocale": "ar",
			"completedAt": "2026-05-14T05:11:34Z", "agentId": "agent-7", "locale": "de",
			"answers": map[string]any{"rate": 9.0, "has-a-complaint": "no"},
			"candidateMetadataJson": map[string]any{
				"wip": "40956", "dealerId": "1", "jobType": "GR", "VIN": "JTMABBBJ2N4024400", "CustomerName": "planted-name",
			},
		}, got)
	})
}

// Who has looked at the form and not answered is reminded like anybody else, and
// the link expires in the end.
func TestWhoHasOpenedTheFormIsStillReminded(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		id := h.linked(csiGR)
		h.drain()
		h.same("opened", error(nil), h.survey.Opened(h.t.Context(), tokenOf(linkIn(h.sent()[0]))))
		h.status(id, survey.StatusOpened)
		h.at(day)
		h.same("sends", []string{"0/1 delivered", "1/2 delivered"}, h.log(id))
		h.status(id, survey.StatusOpened)
		h.at(31 * day)
		h.status(id, survey.StatusExpired)
		h.same("sends", 2, len(h.sent()))
	})
}
