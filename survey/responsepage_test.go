package survey_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

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
