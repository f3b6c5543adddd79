package survey_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// comments are what Comments lists, page by page, in one line.
func (h *host) comments(q survey.CommentQuery) string {
	h.t.Helper()
	var out []string
	for q.SurveyID = 4523; ; {
		page, next, err := h.survey.Responses().Comments(h.t.Context(), "", q)
		if err != nil {
			h.t.Fatal(err)
		}
		for _, w := range page {
			out = append(out, w.CustomerRef+" "+w.Comments[0].Text)
		}
		if q.After = next; next == "" {
			return strings.Join(out, ", ")
		}
	}
}

// What customers wrote is listed, the newest first, in pages of any size, by score, dimension,
// date and text.
func TestCommentsAreListedAndFiltered(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(strings.Replace(strings.Replace(scored, ` "required": true`, ` "required": false`, 1), "candidate.dealer", "candidate.wip", 1))
		for n, a := range []string{`{"nps": 9}`, `{"nps": 10, "stars": 1, "more": "Never again"}`, `{"nps": 3, "more": "late"}`, `{"more": "no rating"}`, `{"nps": 10, "more": "STRASSE"}`} {
			h.clock.Add(24 * time.Hour)
			told := h.about(survey.Item{
				Payload:   json.RawMessage(fmt.Sprintf(`{"kind": "visit", "wip": "w%d"}`, n)),
				Recipient: survey.Recipient{Address: "+964 770 000 0001", CustomerRef: fmt.Sprint("c", n)},
			})
			if _, err := h.survey.Complete(h.t.Context(), "", told.Items[0].Instances[0].PublicID, survey.Response{Answers: json.RawMessage(a)}); err != nil {
				h.t.Fatal(err)
			}
		}
		const all = "c4 STRASSE, c3 no rating, c2 late, c1 Never again"
		for _, limit := range []int{1, 2, 3, 100} {
			if got := h.comments(survey.CommentQuery{ResponseQuery: survey.ResponseQuery{Page: storage.Page{Limit: limit}}}); got != all {
				h.t.Errorf("in pages of %d: %s", limit, got)
			}
		}
		day := func(n int) time.Time { return start.Add(time.Duration(n) * 24 * time.Hour) }
		for what, c := range map[string]struct {
			q    survey.CommentQuery
			want string
		}{
			"unhappy":             {survey.CommentQuery{MaxScore: 30}, "c2 late, c1 Never again"},
			"all scores":          {survey.CommentQuery{MaxScore: 100}, "c4 STRASSE, c2 late, c1 Never again"},
			"text, in any case":   {survey.CommentQuery{Text: "nEvEr"}, "c1 Never again"},
			"text, folded":        {survey.CommentQuery{Text: "straße"}, "c4 STRASSE"},
			"text of nobody":      {survey.CommentQuery{Text: "unknown"}, ""},
			"a dimension":         {survey.CommentQuery{By: "candidate.wip", Value: "w2"}, "c2 late"},
			"another value":       {survey.CommentQuery{By: "candidate.wip", Value: "w9"}, ""},
			"no such dimension":   {survey.CommentQuery{By: "candidate.city", Value: "w0"}, ""},
			"a unit":              {survey.CommentQuery{By: survey.ByUnit, Value: "north"}, ""},
			"no unit":             {survey.CommentQuery{By: survey.ByUnit}, all},
			"since":               {survey.CommentQuery{ResponseQuery: survey.ResponseQuery{Since: day(4)}}, "c4 STRASSE, c3 no rating"},
			"until":               {survey.CommentQuery{ResponseQuery: survey.ResponseQuery{Until: day(4)}}, "c2 late, c1 Never again"},
			"both, in pages":      {survey.CommentQuery{ResponseQuery: survey.ResponseQuery{Since: day(3), Until: day(5), Page: storage.Page{Limit: 1}}}, "c3 no rating, c2 late"},
			"units that are seen": {survey.CommentQuery{ResponseQuery: survey.ResponseQuery{BusinessUnits: []string{"north"}}}, ""},
		} {
			if got := h.comments(c.q); got != c.want {
				h.t.Errorf("%s: %s", what, got)
			}
		}
	})
}

// A call looks at a bounded number of responses, and says where to go on.
func TestASearchOfCommentsGoesOn(t *testing.T) {
	t.Parallel()
	onMemoryHost(t, nil, func(h *host) {
		h.publish(scored)
		texts := []string{`{"nps": 1, "more": "the first"}`}
		for n := range 5000 {
			texts = append(texts, fmt.Sprintf(`{"nps": %d, "more": "another"}`, n%10))
		}
		h.rated(texts...)
		q := survey.CommentQuery{ResponseQuery: survey.ResponseQuery{SurveyID: 4523}, Text: "first"}
		page, next, err := h.survey.Responses().Comments(t.Context(), "", q)
		if err != nil || len(page) != 0 || next == "" {
			t.Fatalf("%d, %q, %v", len(page), next, err)
		}
		q.After = next
		if page, next, err = h.survey.Responses().Comments(t.Context(), "", q); err != nil || len(page) != 1 || next != "" {
			t.Errorf("%d, %q, %v", len(page), next, err)
		}
	})
}

func TestAQueryOfCommentsIsRefused(t *testing.T) {
	t.Parallel()
	onMemoryHost(t, nil, func(h *host) {
		h.publish(scored)
		for what, q := range map[string]survey.CommentQuery{
			"no survey": {}, "a score": {MaxScore: 101, ResponseQuery: survey.ResponseQuery{SurveyID: 4523}},
			"another list's place": {ResponseQuery: survey.ResponseQuery{SurveyID: 4523, Page: storage.Page{After: "1"}}},
		} {
			if _, _, err := h.survey.Responses().Comments(t.Context(), "", q); err == nil || q.After != "" && !errors.Is(err, storage.ErrPage) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}
