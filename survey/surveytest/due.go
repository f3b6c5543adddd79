package surveytest

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/survey"
)

// window finds the first moment in a span of time.
type window struct{ after, until, first time.Time }

func (w *window) see(on time.Time) {
	if on.After(w.after) && !on.After(w.until) && (w.first.IsZero() || on.Before(w.first)) {
		w.first = on
	}
}

// dueOf sees when the links of a survey, and its events, are due.
func (h *Host) dueOf(ctx context.Context, surveyID int64, w *window) error {
	for p := (survey.Page{Limit: 1000}); ; {
		list, err := h.Surveys.Instances(ctx, h.scope, survey.Selection{SurveyID: surveyID}, p)
		if err != nil {
			return err
		}
		for _, i := range list {
			w.see(i.DueOn)
			p.After = i.Key
		}
		if len(list) < p.Limit {
			return h.dueEvents(ctx, surveyID, w)
		}
	}
}

func (h *Host) dueEvents(ctx context.Context, surveyID int64, w *window) error {
	for q := (survey.ResponseQuery{SurveyID: surveyID, Limit: 100}); ; {
		list, err := h.Surveys.Events(ctx, h.scope, q)
		if err != nil {
			return err
		}
		for _, e := range list {
			for _, d := range e.Deliveries {
				w.see(d.DueOn)
			}
			q.After = e.Position
		}
		if len(list) < q.Limit {
			return nil
		}
	}
}
