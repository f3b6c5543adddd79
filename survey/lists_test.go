package survey_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

func TestInstancesAreListedInPages(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		for _, id := range []int64{452, 45230} { // whose keys begin alike
			if _, err := h.survey.Publish(h.t.Context(), survey.Version{SurveyID: id, Name: "another", IntegrationID: "csi-gr", Definition: []byte(csiGR)}); err != nil {
				h.t.Fatal(err)
			}
		}
		b := visits(0, 7)
		for i := range 3 {
			b.Items[i].Recipient.CustomerRef = "cust-7"
		}
		h.take(b)
		for _, c := range []struct {
			of   survey.Selection
			want int
		}{
			{survey.Selection{SurveyID: 4523}, 7},
			{survey.Selection{CustomerRef: "cust-7"}, 9},
			{survey.Selection{CustomerRef: "cust-7", SurveyID: 452}, 3},
			{survey.Selection{CustomerRef: "nobody"}, 0},
		} {
			seen, pages := map[string]bool{}, 0
			for p := (storage.Page{Limit: 2}); ; pages++ {
				page, next, err := h.survey.Support().Instances(h.t.Context(), "", c.of, p)
				if err != nil {
					h.t.Fatal(err)
				}
				for _, i := range page {
					if i.Key <= p.After || c.of.SurveyID != 0 && i.SurveyID != c.of.SurveyID || c.of.CustomerRef != "" && i.CustomerRef != c.of.CustomerRef {
						h.t.Errorf("%+v behind %s: %s of survey %d and customer %s", c.of, p.After, i.Key, i.SurveyID, i.CustomerRef)
					}
					seen[i.PublicID] = true
				}
				if p.After = next; next == "" {
					break
				}
			}
			if len(seen) != c.want || pages != c.want/2 {
				h.t.Errorf("%+v: %d instances in %d whole pages, want %d", c.of, len(seen), pages, c.want)
			}
		}
		if _, _, err := h.survey.Support().Instances(h.t.Context(), "", survey.Selection{}, storage.Page{}); err == nil {
			h.t.Error("a listing of everything is none")
		}
	})
}

// A customer's links from the newest on, and those on hold, page by page.
func TestInstancesAreListedFromTheNewestOnAndOnHold(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		b := visits(0, 5)
		for i := range b.Items {
			b.Items[i].Recipient.CustomerRef = "cust-7"
		}
		h.take(b)
		list := func(of survey.Selection) (out []survey.Instance) {
			for p := (storage.Page{Limit: 2}); ; {
				page, next, err := h.survey.Support().Instances(h.t.Context(), "", of, p)
				if err != nil {
					h.t.Fatal(err)
				}
				out = append(out, page...)
				if p.After = next; next == "" {
					return out
				}
			}
		}
		all := list(survey.Selection{CustomerRef: "cust-7", NewestFirst: true})
		if len(all) != 5 || len(list(survey.Selection{Held: true})) != 0 {
			h.t.Fatal(len(all))
		}
		by := survey.By{Actor: "ann", Reason: "a call"}
		for _, i := range []int{3, 1} {
			if err := h.survey.Support().Hold(h.t.Context(), "", all[i].PublicID, by); err != nil {
				h.t.Fatal(err)
			}
		}
		held := list(survey.Selection{Held: true, NewestFirst: true})
		if len(held) != 2 || held[0].PublicID != all[1].PublicID || held[1].PublicID != all[3].PublicID {
			h.t.Errorf("%+v", held)
		}
	})
}

func TestAnInstanceHasItsDeliveryLog(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		report := h.take(visits(0, 2))
		id := report.Items[0].Instances[0].PublicID
		h.drain()
		row, log, err := h.survey.Support().Instance(h.t.Context(), "", id)
		if err != nil || row.PublicID != id || row.Status != survey.StatusSent {
			h.t.Errorf("%+v, %v", row, err)
		}
		for _, d := range log {
			if d.PublicID != id {
				h.t.Errorf("the log has %+v", d)
			}
		}
	})
}

func (h *host) publishAs(scope survey.Scope, id int64, definition string) {
	h.t.Helper()
	v := asVersion(definition)
	v.Scope, v.SurveyID = scope, id
	if _, err := h.tryPublish(v); err != nil {
		h.t.Fatal(err)
	}
}

func TestListsAreReadInPages(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		for _, id := range []int64{10, 9, 2, 1<<63 - 1, 1000} {
			h.publishAs("", id, `{}`)
		}
		var surveys []int64
		pages := 0
		for p := (storage.Page{Limit: 2}); p.After != "" || pages == 0; pages++ {
			list, next, err := h.survey.Surveys(h.t.Context(), "", p)
			if err != nil {
				h.t.Fatal(err)
			}
			for _, s := range list {
				surveys = append(surveys, s.ID)
			}
			p.After = next
		}
		if diff := cmp.Diff([]int64{2, 9, 10, 1000, 1<<63 - 1}, surveys); diff != "" || pages != 3 {
			h.t.Error(pages, diff)
		}

		if list, _, err := h.survey.Versions(h.t.Context(), "", 1<<63-1, storage.Page{}); err != nil || len(list) != 1 {
			h.t.Error(list, err)
		}
		for i := range 11 {
			h.publishAs("", 9, fmt.Sprintf(`{"title": "%d"}`, i))
		}
		var numbers []int64
		for p := (storage.Page{Limit: 4}); p.After != "" || len(numbers) == 0; {
			list, next, err := h.survey.Versions(h.t.Context(), "", 9, p)
			if err != nil {
				h.t.Fatal(err)
			}
			for _, v := range list {
				numbers = append(numbers, v.Number)
			}
			p.After = next
		}
		if diff := cmp.Diff([]int64{12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, numbers); diff != "" {
			h.t.Error(diff)
		}
		for _, p := range []storage.Page{{After: "\x00"}, {After: "\xff"}} {
			if _, _, err := h.survey.Surveys(h.t.Context(), "", p); err == nil {
				h.t.Errorf("%+v was read", p)
			}
		}
	})
}

// The same survey id in another tenant is another survey.
func TestI28_SurveysAndVersionsOfAnotherScopeAreNotSeen(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publishAs("north", 1, `{"title": "north"}`)
		h.publishAs("north", 2, triggersJSON(oneTrigger("t", "visit", true)))
		h.publishAs("south", 1, `{"title": "south"}`)

		for _, scope := range []survey.Scope{"", "south"} {
			if list, _, err := h.survey.Surveys(h.t.Context(), scope, storage.Page{}); err != nil || scope == "" && len(list) != 0 || scope == "south" && len(list) != 1 {
				h.t.Error(scope, list, err)
			}
			if list, _, err := h.survey.Versions(h.t.Context(), scope, 2, storage.Page{}); err != nil || len(list) != 0 {
				h.t.Error(scope, list, err)
			}
			for _, number := range []int64{0, 1} {
				if _, err := h.survey.Definition(h.t.Context(), scope, 2, number); !errors.Is(err, storage.ErrNotFound) {
					h.t.Error(scope, err)
				}
			}
			if err := h.survey.Unpublish(h.t.Context(), scope, 2); !errors.Is(err, storage.ErrNotFound) {
				h.t.Error(scope, err)
			}
		}
		for _, scope := range []survey.Scope{"north", "south"} {
			if d, err := h.survey.Definition(h.t.Context(), scope, 1, 1); err != nil || d.Title.For("") != string(scope) {
				h.t.Error(scope, d, err)
			}
		}
		h.wantMatched("visit") // the trigger is the north's
	})
}

// A query that names no survey is an error everywhere, and no list without a response.
func TestResponsesAreThoseOfASurvey(t *testing.T) {
	inMemory(t, nil, func(h *host) {
		q := survey.ResponseQuery{Since: start}
		for name, ask := range map[string]func() error{
			"List":   func() error { _, _, err := h.survey.Responses().List(h.t.Context(), "", q); return err },
			"Events": func() error { _, _, err := h.survey.Support().Events(h.t.Context(), "", q); return err },
			"JSON lines": func() error {
				_, err := h.survey.Responses().ExportJSONLines(h.t.Context(), "", io.Discard, q)
				return err
			},
			"CSV": func() error {
				_, err := h.survey.Responses().ExportCSV(h.t.Context(), "", io.Discard, q, nil)
				return err
			},
			"ReplayMissed": func() error {
				_, err := h.survey.Support().ReplayMissed(h.t.Context(), "", "bi", q, sam, nil)
				return err
			},
		} {
			if err := ask(); err == nil || !strings.Contains(err.Error(), "SurveyID") {
				h.t.Errorf("%s: %v", name, err)
			}
		}
	})
}
