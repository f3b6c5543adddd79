package survey_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey"
)

// instanceTable is the package's own, to see what is stored.
var instanceTable = driver.Define[survey.Instance]("survey_instance")

// tickets adds routing to the document's trigger.
var tickets = strings.Replace(csiGR, `"channel": "memory:default"`, `"channel": "memory:default",
	"subscribers": [{"key": "bi"}, {"key": "tickets", "filter": {"questionId": "has-a-complaint", "op": "==", "value": "yes"}}]`, 1)

const (
	complains = `{"rate": 3, "has-a-complaint": "yes", "complaint": "It was late."}`
	content   = `{"rate": 9, "has-a-complaint": "no"}`
)

// invite makes a link of the published survey, as ingest and a send would, and gives
// its token. The instance's PublicID is "id-" and the token.
func (h *host) invite(token string, change ...func(*survey.Instance)) string {
	h.t.Helper()
	r := &survey.Instance{
		Record:   storage.Record{Key: "4523:csi-gr-trigger:" + token, Type: "memory:default", Status: survey.StatusSent, DueOn: start.Add(oneDay)},
		PublicID: "id-" + token, LinkHash: survey.LinkHash(token), SurveyID: 4523, SurveyVersion: 1, TriggerID: "csi-gr-trigger",
		TriggeredOn: start, TriggeredBy: "event:service-visit-closed", Metadata: json.RawMessage(visit), CustomerRef: "cust-123",
		Channel: "memory:default", RecipientAddress: "+964 770 000 0001", RecipientLocale: "ar", UniqueHash: token, CreatedOn: start,
		NextSendOn: start.Add(oneDay), LastSentOn: start, SendOrdinal: 1,
	}
	for _, f := range change {
		f(r)
	}
	h.tx(func(tx storage.Tx) error {
		_, err := instanceTable.Insert(h.t.Context(), tx, r)
		return err
	})
	return token
}

func (h *host) tx(f func(tx storage.Tx) error) {
	h.t.Helper()
	if err := h.store.InTx(h.t.Context(), f); err != nil {
		h.t.Fatal(err)
	}
}

// row is the instance of a link as it is now.
func (h *host) row(token string) (row *survey.Instance) {
	h.t.Helper()
	h.tx(func(tx storage.Tx) error {
		found, err := instanceTable.Everywhere().Find(h.t.Context(), tx, driver.Query{Where: []driver.Cond{driver.Eq("link_hash", survey.LinkHash(token))}, Limit: 2})
		if err == nil {
			row = found[0]
		}
		return err
	})
	return row
}

// counts says how many responses, answers and events there are.
func (h *host) counts() (out [3]int) {
	h.t.Helper()
	h.tx(func(tx storage.Tx) (err error) {
		for _, schema := range append(survey.Schemas(), outbox.Schemas()...) {
			i := slices.Index([]string{"survey_response", "survey_answer", "outbox_event"}, schema.Name)
			if i < 0 || err != nil {
				continue
			}
			out[i], err = tx.Count(h.t.Context(), schema, driver.Everywhere(), nil, 1000)
		}
		return err
	})
	return out
}

func (h *host) submit(token, answers string) survey.Receipt {
	h.t.Helper()
	got, err := h.survey.Submit(h.t.Context(), token, survey.Response{Answers: json.RawMessage(answers)})
	if err != nil {
		h.t.Fatal(err)
	}
	return got
}

func (h *host) same(what string, want, got any) {
	h.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		h.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// notifier is the other domain on the same store, with a subscriber bi of its own.
func (h *host) notifier() *notify.Notifier {
	n := notify.New(h.store, nil)
	n.Subscribe(notify.StatusFunc("bi", func(context.Context, notify.StatusChange) error {
		h.t.Error("a response came as a change of status")
		return nil
	}))
	return n
}
