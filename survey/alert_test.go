package survey_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/survey"
)

// alarmed has a desk told of unhappy responses, by a channel that answers with fail, and gives what it was told.
func (h *host) alarmed(fail *error) *[]channel.Message {
	told := &[]channel.Message{}
	h.survey.Subscribe(h.survey.Alert(survey.AlertOptions{
		Channel: channel.Func("email:desk", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			*told = append(*told, m)
			return channel.Receipt{ID: "d-1"}, *fail
		}), To: "desk@Host.example", URL: "https://desk.example/{surveyId}/{publicId}",
	}))
	return told
}

func (h *host) says(id, answers string) {
	h.t.Helper()
	if _, err := h.survey.Complete(h.t.Context(), "", id, survey.Response{Answers: json.RawMessage(answers)}); err != nil {
		h.t.Fatal(err)
	}
}

// A desk hears of an unhappy response with the next poll, once, without a word of the
// customer's; not of a happy one, nor of one that was handled or erased before.
func TestADeskIsToldOfAnUnhappyResponse(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		none := error(nil)
		told := h.alarmed(&none)
		h.publish(complaining)
		ids := []string{}
		for _, wip := range []string{"unhappy", "happy", "handled", "erased"} {
			ids = append(ids, h.visited(wip))
		}
		h.says(ids[0], complains) // rate 3 of 1 to 10
		h.says(ids[1], content)
		h.says(ids[2], complains)
		h.says(ids[3], complains)
		if err := h.survey.Support().Handle(t.Context(), "", ids[2], someone); err != nil {
			t.Fatal(err)
		}
		if err := h.erase("", "cust-erased"); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			h.drain()
		}
		if len(*told) != 1 {
			t.Fatalf("told %d times: %+v", len(*told), *told)
		}
		m := (*told)[0]
		if m.ID != "alert-"+ids[0] || m.To != "desk@host.example" || m.Subject != "E2E CSI-GR: an unhappy response, score 22 out of 100" || !strings.HasSuffix(m.Text, "\nhttps://desk.example/4523/"+ids[0]) {
			t.Errorf("%+v", m)
		}
		if all, err := json.Marshal(m); err != nil || strings.Contains(string(all), "It was late") || strings.Contains(string(all), "cust-") || strings.Contains(string(all), "+964") {
			t.Errorf("it tells of the customer: %s, %v", all, err)
		}
	})
}

// An alert that does not get out is tried again after a minute, and is a dead letter if the
// address is refused; neither says where it went.
func TestAnAlertIsTriedAgain(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		fail := error(channel.Transient("busy", 0, errors.New("no room for desk@host.example")))
		told := h.alarmed(&fail)
		h.publish(complaining)
		first, second := h.visited("1"), h.visited("2")
		h.says(first, complains)
		h.drain()
		if d := h.delivery(first); d.LastError != "alert: busy" || len(*told) != 1 {
			t.Errorf("%+v after %d", d, len(*told))
		}
		fail = nil
		h.at(2 * time.Minute)
		if d := h.delivery(first); d.Status != outbox.StatusDispatched || len(*told) != 2 || (*told)[0].ID != (*told)[1].ID || d.Calls[len(d.Calls)-1].MessageID != "d-1" {
			t.Errorf("%+v after %d", d, len(*told))
		}
		fail = channel.Permanent("nobody", nil)
		h.says(second, complains)
		h.drain()
		if d := h.delivery(second); d.Status != outbox.StatusDeadLetter {
			t.Errorf("%+v", d)
		}
	})
}

// delivery is that of a response to the alert.
func (h *host) delivery(id string) survey.EventDelivery {
	h.t.Helper()
	e, err := h.survey.Support().Event(h.t.Context(), "", id)
	if err != nil || len(e.Deliveries) != 1 {
		h.t.Fatal(e, err)
	}
	return e.Deliveries[0]
}

// visited tells of a visit of the customer of that name.
func (h *host) visited(name string) string {
	return h.about(survey.Item{
		Payload:   json.RawMessage(`{"wip":"` + name + `","dealerId":"1","jobType":"GR"}`),
		Recipient: survey.Recipient{Address: "+964 770 000 0001", CustomerRef: "cust-" + name},
	}).Items[0].Instances[0].PublicID
}
