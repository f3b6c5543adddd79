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

// A desk sees the unhappy responses, the newest first, page by page, by queue, state, assignee and
// time, with their labels; whoever deals with one takes it, and says once how it was handled.
func TestADeskWorksThroughTheUnhappy(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(queued)
		ids := map[string]string{}
		for n, c := range []struct{ queue, answers string }{
			{"north", `{"why": "late", "more": "by hours"}`}, {"south", `{"why": "rude"}`}, {"north", `{"why": "none"}`}, {"north", `{"why": "late"}`}, {"", `{"why": "rude", "more": "never again"}`},
		} {
			h.at(time.Duration(n) * time.Hour)
			customer := fmt.Sprint("c", n)
			id := h.about(survey.Item{
				Payload:   json.RawMessage(fmt.Sprintf(`{"wip": "w%d", "queue": %q}`, n, c.queue)),
				Recipient: survey.Recipient{Address: "+964 770 000 0001", CustomerRef: customer},
			}).Items[0].Instances[0].PublicID
			h.says(id, c.answers)
			ids[customer] = id
		}
		desk := h.survey.Support()
		list := func(q survey.WorklistQuery) string {
			h.t.Helper()
			var customers []string
			for q.SurveyID = 4523; ; {
				page, err := desk.Worklist(h.t.Context(), "", q)
				if err != nil || q.Limit > 0 && len(page.Items) > q.Limit {
					h.t.Fatal(len(page.Items), err)
				}
				for _, w := range page.Items {
					customers = append(customers, w.CustomerRef)
				}
				if q.After = page.Next; page.Next == "" {
					if page.Total != len(customers) {
						h.t.Errorf("%d are counted, of %v", page.Total, customers)
					}
					return strings.Join(customers, " ")
				}
			}
		}
		by := survey.By{Actor: "kim", Reason: "a call"}
		h.done(desk.Assign(h.t.Context(), "", ids["c1"], survey.Assignment{To: "kim"}, by))
		h.done(desk.Handle(h.t.Context(), "", ids["c3"], survey.By{Actor: "sam", Reason: "called, and sent a voucher"}))
		for name, c := range map[string]struct {
			q    survey.WorklistQuery
			want string
		}{
			"all": {survey.WorklistQuery{}, "c4 c1 c0"}, "in pages": {survey.WorklistQuery{Page: storage.Page{Limit: 1}}, "c4 c1 c0"},
			"a queue":      {survey.WorklistQuery{Queue: "north"}, "c0"},
			"not assigned": {survey.WorklistQuery{State: survey.WorkOpen}, "c4 c0"}, "assigned": {survey.WorklistQuery{State: survey.WorkAssigned}, "c1"},
			"handled": {survey.WorklistQuery{State: survey.WorkHandled}, "c3"}, "mine": {survey.WorklistQuery{Assignee: "kim"}, "c1"}, "another's": {survey.WorklistQuery{Assignee: "sam"}, ""},
			"a time":       {survey.WorklistQuery{Since: start.Add(time.Hour), Until: start.Add(4 * time.Hour)}, "c1"},
			"another unit": {survey.WorklistQuery{BusinessUnits: []string{"cork"}}, ""},
		} {
			if got := list(c.q); got != c.want {
				h.t.Errorf("%s: %s, want %s", name, got, c.want)
			}
		}
		page, err := desk.Worklist(h.t.Context(), "", survey.WorklistQuery{SurveyID: 4523, Queue: "south"})
		if diff := cmp.Diff([]survey.QueueCount{{N: 1}, {Queue: "north", N: 1}, {Queue: "south", N: 1}}, page.Queues); diff != "" || err != nil || page.Total != 1 {
			h.t.Error(diff, err, page.Total)
		}
		item, err := desk.Work(h.t.Context(), "", ids["c0"])
		if diff := cmp.Diff([]survey.AnswerText{{QuestionID: "why", Label: "What was wrong with w0?", Text: "It was late"}, {QuestionID: "more", Label: "more", Text: "by hours"}}, item.Texts); diff != "" || err != nil {
			h.t.Error(diff, err)
		}
		if len(item.Comments) != 1 || item.Comments[0].Text != "by hours" || item.State != survey.WorkOpen || item.Queue != "north" || !strings.Contains(string(item.Event), "w0") || item.RecipientAddress != "+964 770 000 0001" {
			h.t.Errorf("%+v", item)
		}
		if done, err := desk.Work(h.t.Context(), "", ids["c3"]); err != nil || done.State != survey.WorkHandled || done.HandledBy != "sam" || done.Note != "called, and sent a voucher" || !done.HandledOn.Equal(start.Add(4*time.Hour)) {
			h.t.Errorf("%+v, %v", done, err)
		}
	})
}

// Of two who take a response one has it; what is handled stays as it is.
func TestADeskDoesNotTakeAResponseTwice(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(queued)
		ids := h.rated(`{"why": "late"}`)
		desk := h.survey.Support()
		assign := func(scope survey.Scope, from, to string) error {
			return desk.Assign(h.t.Context(), scope, ids[0], survey.Assignment{From: from, To: to}, survey.By{Actor: "kim", Reason: "a shift"})
		}
		h.done(assign("", "", "kim"))
		if err := assign("", "", "sam"); !errors.Is(err, survey.ErrActionRefused) {
			h.t.Errorf("taken twice: %v", err)
		}
		if err := assign("another", "kim", "sam"); !errors.Is(err, storage.ErrNotFound) {
			h.t.Errorf("another tenant's: %v", err)
		}
		if err := assign("", "kim", strings.Repeat("x", 201)); err == nil || errors.Is(err, survey.ErrActionRefused) {
			h.t.Errorf("a long name: %v", err)
		}
		h.done(assign("", "kim", ""))
		h.done(assign("", "", "sam"))
		if err := desk.Handle(h.t.Context(), "", ids[0], survey.By{Actor: "sam"}); err == nil {
			h.t.Error("handled without a note")
		}
		h.done(desk.Handle(h.t.Context(), "", ids[0], survey.By{Actor: "sam", Reason: "called"}))
		for name, err := range map[string]error{
			"handled twice":        desk.Handle(h.t.Context(), "", ids[0], survey.By{Actor: "kim", Reason: "too"}),
			"taken when handled":   assign("", "sam", "kim"),
			"of another's tenancy": desk.Handle(h.t.Context(), "another", ids[0], survey.By{Actor: "sam", Reason: "x"}),
		} {
			if !errors.Is(err, survey.ErrActionRefused) && !errors.Is(err, storage.ErrNotFound) {
				h.t.Errorf("%s: %v", name, err)
			}
		}
		for _, q := range []survey.WorklistQuery{{SurveyID: 4523, State: "Lost"}, {SurveyID: 4523, Page: storage.Page{After: "x"}}} {
			if _, err := desk.Worklist(h.t.Context(), "", q); err == nil {
				h.t.Errorf("%+v was taken", q)
			}
		}
	})
}

// queued is a survey whose worklist is parted by queues.
const queued = `{"unhappy": {"questionId": "why", "op": "!=", "value": "none"}, "queue": "candidate.queue", "questions": [
	{"id": "why", "type": "choice", "label": "What was wrong with {{.Value \"wip\"}}?", "options": [{"value": "late", "label": "It was late"}, {"value": "rude"}, {"value": "none"}]},
	{"id": "more", "type": "text"}
], "triggers": [{"id": "t", "enabled": true, "eventKind": "service-visit-closed", "dedupRecipe": ["templateId", "candidate.wip"], "schedule": {"initialDelay": "0d"}, "channel": "memory:default"}]}`

// done ends a test on an error.
func (h *host) done(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// complaining is the document's survey, in which who has a complaint is unhappy.
var complaining = strings.Replace(csiGR, `"questions"`, `"unhappy": {"questionId": "has-a-complaint", "op": "==", "value": "yes"}, "questions"`, 1)

// minded is a survey whose authors say what the ends of its scales mean, and what is unhappy.
const minded = `{"unhappy": {"any": [{"questionId": "solved", "op": "==", "value": "no"}, {"questionId": "csat", "op": "<=", "value": 2}]}, "questions": [
	{"id": "csat", "type": "rating", "metric": "csat"},
	{"id": "effort", "type": "rating", "max": 7, "lowIsBetter": true, "metric": "ces"},
	{"id": "solved", "type": "yesNo"}
], "triggers": [{"id": "t", "enabled": true, "eventKind": "service-visit-closed", "dedupRecipe": ["templateId", "candidate.wip"], "schedule": {"initialDelay": "0d"}, "channel": "memory:default"}]}`

// The desk sees, and is told of, the responses that the authors call unhappy, and no other; each
// scale scores in its direction. Where they say nothing there are none.
func TestAuthorsSayWhatIsUnhappy(t *testing.T) {
	t.Parallel()
	answers := []string{
		`{"csat": 5, "effort": 1, "solved": "yes"}`, `{"csat": 4, "effort": 7, "solved": "no"}`, `{"csat": 1, "solved": "yes"}`, `{"csat": 3, "effort": 4}`, `{"solved": "no"}`,
	}
	for name, c := range map[string]struct {
		definition, list string
		told             []string
	}{
		"a filter": {minded, "c4 -, c2 0, c1 0", []string{"visits: an unhappy response, score 0 out of 100", "visits: an unhappy response, score 0 out of 100", "visits: an unhappy response"}},
		"none":     {`{"questions"` + strings.SplitN(minded, `"questions"`, 2)[1], "", nil},
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
				page, err := h.survey.Support().Worklist(h.t.Context(), "", survey.WorklistQuery{SurveyID: 4523})
				var list []string
				for _, w := range page.Items {
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
	s := survey.New(memory.New(&memory.Options{Clock: clk}), nil, nil)
	must(s.Publish(ctx, survey.Version{SurveyID: 4523, Name: "CSI-GR", IntegrationID: "csi-gr", Definition: json.RawMessage(complaining)}))
	for n, answers := range []string{`{"rate": 9, "has-a-complaint": "no"}`, `{"rate": 2, "has-a-complaint": "yes", "complaint": "It was late."}`} {
		report := must(s.Ingest(ctx, survey.Batch{EventKind: "service-visit-closed", Items: []survey.Item{{
			Payload:   json.RawMessage(fmt.Sprintf(`{"wip": %d, "jobType": "GR"}`, n)),
			Recipient: survey.Recipient{Address: "+964 770 000 0001", CustomerRef: fmt.Sprintf("cust-%d", n)},
		}}}))
		must(s.Complete(ctx, "", report.Items[0].Instances[0].PublicID, survey.Response{Answers: json.RawMessage(answers)}))
	}
	page, err := s.Support().Worklist(ctx, "", survey.WorklistQuery{SurveyID: 4523})
	for _, w := range page.Items {
		fmt.Println(w.Score, w.CustomerRef, w.Comments)
	}
	fmt.Println(err, s.Support().Handle(ctx, "", page.Items[0].PublicID, survey.By{Actor: "kim", Reason: "called back"}))
	done := must(s.Support().Work(ctx, "", page.Items[0].PublicID))
	fmt.Println(done.HandledBy, done.HandledOn, done.Note)
	// Output:
	// 11 cust-1 [{complaint complaint It was late.}]
	// <nil> <nil>
	// kim 2026-05-14 05:12:34 +0000 UTC called back
}
