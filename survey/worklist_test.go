package survey_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
)

// rated answers a link of one visit each with that score, and gives the links' ids.
func (h *host) rated(answers ...string) (ids []string) {
	h.t.Helper()
	for n, a := range answers {
		got := h.about(survey.Item{
			Payload:   json.RawMessage(fmt.Sprintf(`{"kind": "visit", "wip": "w%d"}`, n)),
			Recipient: survey.Recipient{Address: "+964 770 000 0001", CustomerRef: fmt.Sprintf("c%d", n)},
		})
		id := got.Items[0].Instances[0].PublicID
		if _, err := h.survey.Complete(h.t.Context(), "", id, survey.Response{Answers: json.RawMessage(a)}); err != nil {
			h.t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// A desk sees the unhappiest first, page by page, with what they wrote; whoever handles a
// response says so once.
func TestTheUnhappiestComeFirst(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(scored)
		ids := h.rated(`{"nps": 9}`, `{"nps": 10, "stars": 1, "more": "never again"}`, `{"nps": 3}`, `{"nps": 10, "stars": 5}`, `{"nps": 3, "more": "late"}`)
		desk := h.survey.Support()
		list := func(limit int) (scores []int, customers []string) {
			h.t.Helper()
			q := survey.WorklistQuery{SurveyID: 4523, Page: storage.Page{Limit: limit}}
			for {
				page, next, err := desk.Worklist(h.t.Context(), "", q)
				if err != nil || len(page) > limit {
					h.t.Fatal(len(page), err)
				}
				for _, w := range page {
					scores, customers = append(scores, w.Score), append(customers, w.CustomerRef)
				}
				if q.After = next; next == "" {
					return scores, customers
				}
			}
		}
		for _, limit := range []int{1, 2, 5, 100} {
			if scores, customers := list(limit); !slices.Equal(scores, []int{0, 30, 30, 90, 100}) || strings.Join(customers, " ") != "c1 c2 c4 c0 c3" {
				h.t.Errorf("in pages of %d: %v of %v", limit, scores, customers)
			}
		}
		page, _, err := desk.Worklist(h.t.Context(), "", survey.WorklistQuery{SurveyID: 4523})
		if err != nil || !page[0].Rated || len(page[0].Comments) != 1 || page[0].Comments[0].Text != "never again" || page[0].RecipientAddress != "+964 770 000 0001" || !strings.Contains(string(page[0].Event), "w1") {
			h.t.Errorf("%+v, %v", page[0], err)
		}
		if err := desk.Handle(h.t.Context(), "", ids[1], survey.By{Actor: "kim", Reason: "called, and sent a voucher"}); err != nil {
			h.t.Fatal(err)
		}
		if _, customers := list(2); strings.Join(customers, " ") != "c2 c4 c0 c3" {
			h.t.Errorf("it is still there: %v", customers)
		}
		done, err := desk.Work(h.t.Context(), "", ids[1])
		if err != nil || done.HandledBy != "kim" || done.Note != "called, and sent a voucher" || !done.HandledOn.Equal(start) || done.Comments[0].Text != "never again" {
			h.t.Errorf("%+v, %v", done, err)
		}
		if err := desk.Handle(h.t.Context(), "", ids[1], survey.By{Actor: "sam", Reason: "too"}); !errors.Is(err, survey.ErrActionRefused) {
			h.t.Errorf("handled twice: %v", err)
		}
		if err := desk.Handle(h.t.Context(), "", ids[2], survey.By{Actor: "sam"}); err == nil {
			h.t.Error("handled without a note")
		}
		if err := desk.Handle(h.t.Context(), "another", ids[2], survey.By{Actor: "sam", Reason: "x"}); !errors.Is(err, storage.ErrNotFound) {
			h.t.Errorf("another tenant's: %v", err)
		}
		for _, q := range []survey.WorklistQuery{{SurveyID: 4523, BusinessUnits: []string{"cork"}}, {SurveyID: 4524}} {
			if page, _, err := desk.Worklist(h.t.Context(), "", q); err != nil || len(page) != 0 {
				h.t.Errorf("%+v: %d, %v", q, len(page), err)
			}
		}
		for _, after := range []string{"x", "1", "1.", "-1.1", "200.1"} {
			if _, _, err := desk.Worklist(h.t.Context(), "", survey.WorklistQuery{SurveyID: 4523, Page: storage.Page{After: after}}); !errors.Is(err, storage.ErrPage) {
				h.t.Errorf("after %q: %v", after, err)
			}
		}
	})
}

// A response without a rating comes last, and says that it has none.
func TestWhoDidNotRateComesLast(t *testing.T) {
	inMemory(t, nil, func(h *host) {
		h.publish(strings.Replace(scored, `, "required": true`, "", 1))
		h.rated(`{"more": "hello"}`, `{"nps": 10}`)
		page, _, err := h.survey.Support().Worklist(h.t.Context(), "", survey.WorklistQuery{SurveyID: 4523})
		if err != nil || len(page) != 2 || !page[0].Rated || page[0].Score != 100 || page[1].Rated || page[1].Score != 0 || page[1].Comments[0].Text != "hello" {
			h.t.Errorf("%+v, %v", page, err)
		}
	})
}

// minded is a survey whose authors say what the ends of its scales mean, and what is unhappy.
const minded = `{"unhappy": {"any": [{"questionId": "solved", "op": "==", "value": "no"}, {"questionId": "csat", "op": "<=", "value": 2}]}, "questions": [
	{"id": "csat", "type": "rating", "metric": "csat"},
	{"id": "effort", "type": "rating", "max": 7, "lowIsBetter": true, "metric": "ces"},
	{"id": "solved", "type": "yesNo"}
], "triggers": [{"id": "t", "enabled": true, "eventKind": "service-visit-closed", "dedupRecipe": ["templateId", "candidate.wip"], "schedule": {"initialDelay": "0d"}, "channel": "memory:default"}]}`

// The desk sees, and is told of, the responses that the authors call unhappy, and no other;
// where they say nothing it sees all of them, the lowest score first, each scale in its
// direction.
func TestAuthorsSayWhatIsUnhappy(t *testing.T) {
	t.Parallel()
	answers := []string{
		`{"csat": 5, "effort": 1, "solved": "yes"}`, `{"csat": 4, "effort": 7, "solved": "no"}`, `{"csat": 1, "solved": "yes"}`, `{"csat": 3, "effort": 4}`, `{"solved": "no"}`,
	}
	for name, c := range map[string]struct {
		definition, list string
		told             []string
	}{
		"a filter": {minded, "c1 0, c2 0, c4 -", []string{"visits: an unhappy response, score 0 out of 100", "visits: an unhappy response, score 0 out of 100", "visits: an unhappy response"}},
		"none": {
			`{"questions"` + strings.SplitN(minded, `"questions"`, 2)[1], "c1 0, c2 0, c3 50, c0 100, c4 -",
			[]string{"visits: score 0 out of 100", "visits: score 0 out of 100"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachHost(t, nil, func(h *host) {
				none := error(nil)
				told := h.alarmed(&none)
				if _, err := h.survey.Publish(h.t.Context(), survey.Version{SurveyID: 4523, Name: "visits", Definition: json.RawMessage(c.definition)}); err != nil {
					h.t.Fatal(err)
				}
				h.drain() // the subscriber is known
				h.rated(answers...)
				h.drain()
				page, _, err := h.survey.Support().Worklist(h.t.Context(), "", survey.WorklistQuery{SurveyID: 4523})
				var list []string
				for _, w := range page {
					score := "-"
					if w.Rated {
						score = strconv.Itoa(w.Score)
					}
					list = append(list, w.CustomerRef+" "+score)
				}
				if got := strings.Join(list, ", "); got != c.list || err != nil {
					h.t.Errorf("listed %s, want %s: %v", got, c.list, err)
				}
				var subjects []string
				for _, m := range *told {
					subjects = append(subjects, m.Subject)
				}
				slices.Sort(subjects)
				slices.Sort(c.told)
				if diff := cmp.Diff(c.told, subjects); diff != "" {
					h.t.Error(diff)
				}
			})
		})
	}
}

// A desk sees who is unhappy, and notes what it did.
func ExampleSupport_Worklist() {
	ctx, clk := context.Background(), clock.NewMock()
	clk.Set(time.Date(2026, 5, 14, 5, 12, 34, 0, time.UTC))
	s := survey.New(memory.New(&memory.Options{Clock: clk}), nil)
	must(s.Publish(ctx, survey.Version{SurveyID: 4523, Name: "CSI-GR", IntegrationID: "csi-gr", Definition: json.RawMessage(csiGR)}))
	for n, answers := range []string{`{"rate": 9, "has-a-complaint": "no"}`, `{"rate": 2, "has-a-complaint": "yes", "complaint": "It was late."}`} {
		report := must(s.Ingest(ctx, survey.Batch{EventKind: "service-visit-closed", Items: []survey.Item{{
			Payload:   json.RawMessage(fmt.Sprintf(`{"wip": %d, "jobType": "GR"}`, n)),
			Recipient: survey.Recipient{Address: "+964 770 000 0001", CustomerRef: fmt.Sprintf("cust-%d", n)},
		}}}))
		must(s.Complete(ctx, "", report.Items[0].Instances[0].PublicID, survey.Response{Answers: json.RawMessage(answers)}))
	}
	page, _, err := s.Support().Worklist(ctx, "", survey.WorklistQuery{SurveyID: 4523})
	for _, w := range page {
		fmt.Println(w.Score, w.CustomerRef, w.Comments)
	}
	fmt.Println(err, s.Support().Handle(ctx, "", page[0].PublicID, survey.By{Actor: "kim", Reason: "called back"}))
	done := must(s.Support().Work(ctx, "", page[0].PublicID))
	fmt.Println(done.HandledBy, done.HandledOn, done.Note)
	// Output:
	// 11 cust-1 [{complaint complaint It was late.}]
	// 88 cust-0 []
	// <nil> <nil>
	// kim 2026-05-14 05:12:34 +0000 UTC called back
}
