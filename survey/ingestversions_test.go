package survey_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
)

// Once they are parsed, surveys that want an event cost no statements of their own.
func TestTheStatementsOfABatchDoNotGrowWithTheSurveys(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		f := newFaulty(h.store, 0)
		h.survey = survey.New(f.Spy, nil, nil)
		var got [2]int64
		for i, id := range []int64{4523, 1} {
			for range 20 {
				h.publishCopy(id)
				if id++; i == 0 {
					break
				}
			}
			h.take(visits(10*i, 2)) // parses
			got[i] = f.statements(func() { h.take(visits(1000*(i+1), 5)) })
		}
		if got[0] > 4 || got[1] > 4 {
			h.t.Errorf("%d statements for one survey, %d for 21", got[0], got[1])
		}
	})
}

// publishCopy publishes the document's survey under another id.
func (h *host) publishCopy(id int64) {
	h.t.Helper()
	v := survey.Version{SurveyID: id, Name: "CSI", IntegrationID: "csi-gr", Definition: []byte(csiGR)}
	if _, err := h.survey.Publish(h.t.Context(), v); err != nil {
		h.t.Fatal(err)
	}
}

// A survey that a later release has published fails its own instances, to be told
// again, and no other's.
func TestASurveyThatCannotBeReadFailsAlone(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		h.publishCopy(1)
		h.rewrite(1, `{"triggers": "of another kind"}`)
		item := h.service(nil)
		report, err := item.Ingest(h.t.Context(), batch(visit))
		if err != nil {
			h.t.Fatal(err)
		}
		got := report.Items[0]
		if got.Outcome != survey.Failed || got.Instances[0].Outcome != survey.Failed || got.Instances[1].Outcome != survey.Created ||
			!strings.Contains(got.Instances[0].Reason, "version 1 of survey 1 cannot be read") {
			h.t.Errorf("%+v", got)
		}
	})
}

// rewrite changes the stored definition of the first version of a survey.
func (h *host) rewrite(id int64, definition string) {
	h.t.Helper()
	var schema *driver.Schema
	for _, s := range survey.Schemas() {
		if s.Name == "survey_version" {
			schema = s
		}
	}
	err := h.store.InTx(h.t.Context(), func(tx storage.Tx) error {
		rows, err := tx.Select(h.t.Context(), schema, driver.Within(""), driver.Query{Where: []driver.Cond{driver.Eq("survey_id", id)}, Limit: 1})
		if err != nil {
			return err
		}
		if _, err := tx.Delete(h.t.Context(), schema, rows); err != nil {
			return err
		}
		if err := schema.Column("definition").Set(rows[0], definition); err != nil {
			return err
		}
		_, err = tx.Insert(h.t.Context(), schema, rows)
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// The link of a deleted or erased instance answers like one that nobody ever made.
func TestALinkThatWasTakenBackAnswersLikeAnUnknownOne(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		answers := []byte(`{"rate": 9, "has-a-complaint": "no"}`)
		ids, links := []string{}, []string{}
		for _, item := range h.take(visits(0, 3)).Items {
			ids = append(ids, item.Instances[0].PublicID)
			links = append(links, token(h.t, h.link(ids[len(ids)-1])))
		}
		if err := errors.Join(
			h.survey.Support().Delete(h.t.Context(), "", ids[0], support, nil),
			h.survey.Support().Delete(h.t.Context(), "", ids[1], support, &survey.DeleteOptions{Forget: true}),
			h.erase("", "cust-123"),
		); err != nil {
			h.t.Fatal(err)
		}
		_, unknown := h.survey.Submit(h.t.Context(), strings.Repeat("a", 40), survey.Response{Answers: answers})
		for i, link := range links {
			_, err := h.survey.Submit(h.t.Context(), link, survey.Response{Answers: answers})
			opened := h.survey.Opened(h.t.Context(), link)
			if !errors.Is(err, survey.ErrNoSurvey) || err.Error() != unknown.Error() || !errors.Is(opened, survey.ErrNoSurvey) {
				h.t.Errorf("link %d: %v, %v, want %v", i, err, opened, unknown)
			}
		}
	})
}

// FuzzIngest: no item fails a batch, each has the outcome that its instances say,
// and told again it makes nothing.
func FuzzIngest(f *testing.F) {
	f.Add([]byte(visit), "+964 770 000 0001", "ar", "cust-123", int64(0))
	f.Add([]byte(`{"jobType":"GR","wip":{"a":1}}`), "a", "", "", int64(1))
	f.Add([]byte(`{"jobType":"GR","wip":[]}`), "a\n", "\xff", "\x00", int64(-1))
	f.Add([]byte(`{"jobType":"GR","wip":"\u001f","dealerId":1e400}`), "a", "\u202e", "é", int64(1<<62))
	f.Add([]byte(`{"jobType":"GR","note":"<<<<<<"}`), "=1+1", "ar-IQ", "c", int64(1_700_000_000))
	clk := clock.NewMock()
	clk.Set(start)
	f.Fuzz(func(t *testing.T, payload []byte, address, locale, customer string, occurredOn int64) {
		s := survey.New(memory.New(&memory.Options{Clock: clk}), nil, nil)
		if _, err := s.Publish(t.Context(), survey.Version{SurveyID: 4523, Name: "CSI", IntegrationID: "csi-gr", Definition: json.RawMessage(csiGR)}); err != nil {
			t.Fatal(err)
		}
		item := survey.Item{Payload: payload, Recipient: survey.Recipient{Address: address, Locale: locale, CustomerRef: customer}}
		if occurredOn != 0 {
			item.OccurredOn = time.Unix(occurredOn, 0)
		}
		b := batch(visit)
		b.Items = append(b.Items, item, item)
		first, err := s.Ingest(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.Ingest(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		if again.Created != 0 || first.Items[0].Outcome != survey.Created || first.Failed != again.Failed || first.NoMatch != again.NoMatch {
			t.Fatalf("first %+v, then %+v", first, again)
		}
		if diff := cmp.Diff(first.Items[2], again.Items[1]); diff != "" {
			t.Fatalf("one item twice:\n%s", diff)
		}
		if _, err := json.Marshal(first); err != nil {
			t.Fatal(err)
		}
	})
}
