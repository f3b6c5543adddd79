package survey_test

import (
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

//spec:t-026 t-070
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

func TestATallyCountsByStatus(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		sent := h.take(visits(0, 4))
		h.drain()
		h.take(visits(10, 3))
		if err := h.survey.Support().Delete(h.t.Context(), "", sent.Items[0].Instances[0].PublicID, support, nil); err != nil {
			h.t.Fatal(err)
		}
		answers := []byte(`{"rate": 9, "has-a-complaint": "no"}`)
		if _, err := h.survey.Submit(h.t.Context(), token(h.t, h.link(sent.Items[1].Instances[0].PublicID)), survey.Response{Answers: answers}); err != nil {
			h.t.Fatal(err)
		}
		for id, want := range map[int64]survey.Tally{4523: {Pending: 3, Sent: 2, Completed: 1}, 452: {}} {
			got, err := h.survey.Responses().Tally(h.t.Context(), "", id)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				h.t.Errorf("survey %d: %v %s", id, err, diff)
			}
		}
	})
}
