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

	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey"
)

// instanceTable is the package's own, to see what is stored.
var instanceTable = driver.Define[survey.InstanceRow]("survey_instance")

// tickets adds routing to the document's trigger.
var tickets = strings.Replace(csiGR, `"channel": "memory:default"`, `"channel": "memory:default",
	"subscribers": [{"key": "bi"}, {"key": "tickets", "filter": {"questionId": "has-a-complaint", "op": "==", "value": "yes"}}]`, 1)

const (
	complains = `{"rate": 3, "has-a-complaint": "yes", "complaint": "It was late."}`
	content   = `{"rate": 9, "has-a-complaint": "no"}`
)

// invite makes a link of the published survey, as ingest and a send would, and gives
// its token. The instance's PublicID is "id-" and the token.
func (h *host) invite(token string, change ...func(*survey.InstanceRow)) string {
	h.t.Helper()
	r := &survey.InstanceRow{
		Due:      driver.Due{Record: storage.Record{Key: "4523:csi-gr-trigger:" + token, Kind: "memory:default", Status: survey.StatusSent}, DueOn: start.Add(oneDay)},
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
func (h *host) row(token string) *survey.InstanceRow {
	h.t.Helper()
	return h.rowWhere(driver.Eq("link_hash", survey.LinkHash(token)))
}

// stored is the row of an instance as it is now.
func (h *host) stored(publicID string) *survey.InstanceRow {
	h.t.Helper()
	return h.rowWhere(driver.Eq("public_id", publicID))
}

func (h *host) rowWhere(is driver.Cond) (row *survey.InstanceRow) {
	h.t.Helper()
	h.tx(func(tx storage.Tx) error {
		found, err := instanceTable.Everywhere().Find(h.t.Context(), tx, driver.Query{Where: []driver.Cond{is}, Limit: 2})
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

func TestAnOpenedInstanceKeepsItsReminders(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		token := h.invite("one")
		want := h.row(token)
		h.clock.Add(time.Hour)
		h.same("opened", error(nil), h.survey.Opened(t.Context(), token))
		want.Status, want.OpenedOn, want.Version = survey.StatusOpened, start.Add(time.Hour), 2
		h.same("instance", want, h.row(token))
		h.clock.Add(time.Hour)
		h.same("opened again", error(nil), h.survey.Opened(t.Context(), token))
		h.same("instance", want, h.row(token))
	})
}

func TestI4_ABeaconAfterTheResponseChangesNothing(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		token := h.invite("one")
		h.submit(token, content)
		want := h.row(token)
		h.same("opened", error(nil), h.survey.Opened(t.Context(), token))
		h.same("instance", want, h.row(token))
	})
}

// A mail scanner fetches every link, however often.
func TestAskingForAFormChangesNothing(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		token := h.invite("one")
		want := h.row(token)
		for range 3 {
			form, err := h.survey.Form(t.Context(), token)
			h.same("error", error(nil), err)
			h.same("questions", 3, len(form.Definition.Questions))
			h.same("event", visit, string(form.Event.Metadata))
			h.same("link", "", form.Event.URL)
			form.Definition, form.Event = nil, survey.Form{}.Event
			h.same("form", survey.Form{PublicID: "id-one", SurveyID: 4523, Survey: "E2E CSI-GR", Version: 1, Locale: "ar", State: survey.FormOpen}, form)
		}
		h.same("instance", want, h.row(token))
		h.submit(token, content)
		form, err := h.survey.Form(t.Context(), token)
		h.same("error", error(nil), err)
		h.same("state", survey.FormAnswered, form.State)
	})
}

func TestAFormInAHostsTransactionSeesWhatItDid(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		token := h.invite("one")
		h.tx(func(tx storage.Tx) error {
			bound := h.survey.WithTx(tx)
			if err := bound.Opened(t.Context(), token); err != nil {
				return err
			}
			_, err := bound.Form(t.Context(), token)
			return err
		})
		h.same("status", survey.StatusOpened, h.row(token).Status)
	})
}

// paged lists the ids of the responses and events that q selects, page by page.
func (h *host) paged(q survey.ResponseQuery) (responses, events []string) {
	h.t.Helper()
	const enough = 10 // the pages do not end
	for p := q; len(responses) < enough; {
		page, next, err := h.survey.Responses().List(h.t.Context(), "", p)
		if err != nil {
			h.t.Fatal(err)
		}
		for _, r := range page {
			responses = append(responses, r.PublicID)
		}
		if p.After = next; next == "" {
			break
		}
	}
	for p := q; len(events) < enough; {
		page, next, err := h.survey.Support().Events(h.t.Context(), "", p)
		if err != nil {
			h.t.Fatal(err)
		}
		for _, e := range page {
			events = append(events, e.PublicID)
		}
		if p.After = next; next == "" {
			break
		}
	}
	return responses, events
}

func TestResponsesComeInTheOrderOfTheirMoments(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		for i, after := range []time.Duration{2 * time.Hour, 0, time.Hour, 0, time.Hour} { // the clocks of several processes
			h.clock.Set(start.Add(after))
			h.submit(h.invite(fmt.Sprint(i)), content)
		}
		hour := start.Add(time.Hour)
		for name, c := range map[string]struct {
			since, until time.Time
			want         []string
		}{
			"all":   {want: []string{"id-1", "id-3", "id-2", "id-4", "id-0"}},
			"since": {since: hour, want: []string{"id-2", "id-4", "id-0"}},
			"until": {until: hour, want: []string{"id-1", "id-3"}},
			"span":  {since: hour, until: hour.Add(time.Minute), want: []string{"id-2", "id-4"}},
			"none":  {since: hour.Add(2 * time.Hour)},
		} {
			for limit := 1; limit <= 3; limit++ {
				responses, events := h.paged(survey.ResponseQuery{SurveyID: 4523, Since: c.since, Until: c.until, Page: storage.Page{Limit: limit}})
				h.same(fmt.Sprint("responses ", name, limit), c.want, responses)
				h.same(fmt.Sprint("events ", name, limit), c.want, events)
			}
		}
	})
}

// A position from before Since, as somebody has who looks at less from one page on.
func TestAPageBeginsAtTheLaterOfItsTwoBeginnings(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		var first string
		for i := range 3 {
			h.submit(h.invite(fmt.Sprint(i)), content)
			h.clock.Add(time.Hour)
		}
		_, next, err := h.survey.Responses().List(t.Context(), "", survey.ResponseQuery{SurveyID: 4523, Page: storage.Page{Limit: 1}})
		if err == nil {
			first = next
		}
		h.same("error", error(nil), err)
		got, _ := h.paged(survey.ResponseQuery{SurveyID: 4523, Page: storage.Page{After: first, Limit: 3}, Since: start.Add(2 * time.Hour)})
		h.same("a later Since", []string{"id-2"}, got)
		for _, bad := range []string{"12", "x.y.z", ".", "1.", "-.1"} {
			_, _, err := h.survey.Responses().List(t.Context(), "", survey.ResponseQuery{SurveyID: 4523, Page: storage.Page{After: bad}})
			h.same("refused: "+bad, true, err != nil)
		}
	})
}

// busyStore lets others write an instance between every read and write of it, so
// many times.
func (h *host) busyStore(times int, write func(r *survey.InstanceRow)) *storetest.Spy {
	return &storetest.Spy{Store: h.store, Hook: func(c storetest.Call) error {
		if c.Verb != storetest.Update || c.Table != "survey_instance" || times == 0 {
			return nil
		}
		times--
		mine := c.Rows[0].(*survey.InstanceRow)
		stored, err := instanceTable.Get(h.t.Context(), c.Tx, mine.Scope, mine.Key)
		if err != nil {
			return err
		}
		write(stored)
		return instanceTable.Save(h.t.Context(), c.Tx, stored)
	}}
}

// busy is a service on the host's store while others write.
func (h *host) busy(times int, write func(r *survey.InstanceRow)) *survey.Service {
	return survey.New(h.busyStore(times, write), nil, nil)
}

func TestI25_ASubmitIsRepeatedWhileClaimsAndBeaconsMoveTheVersion(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		token := h.invite("one")
		s := h.busy(5, func(r *survey.InstanceRow) { r.Calls++ })
		got, err := s.Submit(t.Context(), token, survey.Response{Answers: json.RawMessage(content)})
		h.same("error", error(nil), err)
		h.same("receipt", survey.Receipt{PublicID: "id-one", CompletedOn: start}, got)
		h.same("what the others wrote", 5, h.row(token).Calls)
		h.same("responses, answers, events", [3]int{1, 2, 1}, h.counts())
	})
}

func TestI4_ASubmitThatLosesToTheExpiryLeavesNothing(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		token := h.invite("one")
		store := h.busyStore(1, func(r *survey.InstanceRow) { r.Status = survey.StatusExpired })
		err := store.InTx(t.Context(), func(tx storage.Tx) error { // of a host that commits whatever the answer
			_, err := survey.New(store, nil, nil).WithTx(tx).Submit(t.Context(), token, survey.Response{Answers: json.RawMessage(content)})
			h.same("submitted", true, errors.Is(err, survey.ErrNoSurvey))
			return nil
		})
		h.same("committed", error(nil), err)
		h.same("status", survey.StatusExpired, h.row(token).Status)
		h.same("responses, answers, events", [3]int{}, h.counts())
	})
}

func TestABeaconIsRepeatedAndGivesUpForTheEnd(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		token := h.invite("one")
		h.same("opened", error(nil), h.busy(5, func(r *survey.InstanceRow) { r.Calls++ }).Opened(t.Context(), token))
		h.same("status", survey.StatusOpened, h.row(token).Status)
		token = h.invite("two")
		h.same("opened", error(nil), h.busy(1, func(r *survey.InstanceRow) { r.Status = survey.StatusCompleted }).Opened(t.Context(), token))
		h.same("status", survey.StatusCompleted, h.row(token).Status)
		token = h.invite("three")
		err := h.busy(1000, func(r *survey.InstanceRow) { r.Calls++ }).Opened(t.Context(), token)
		h.same("it has an end", true, errors.Is(err, storage.ErrBusy))
	})
}

// However an instance came to be open again, its response stands.
func TestI25_TheUniqueKeyDecidesWhatTheInstanceDoesNot(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		token := h.invite("one")
		h.submit(token, complains)
		r := h.row(token)
		h.tx(func(tx storage.Tx) error {
			r.Status = survey.StatusSent
			return instanceTable.Save(t.Context(), tx, r)
		})
		_, err := h.survey.Submit(t.Context(), token, survey.Response{Answers: json.RawMessage(content)})
		h.same("answered", true, errors.Is(err, survey.ErrAnswered))
		h.same("repeated", true, h.submit(token, complains).Repeated)
		h.same("responses, answers, events", [3]int{1, 3, 1}, h.counts())
	})
}
