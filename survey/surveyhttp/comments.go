package surveyhttp

import (
	"html/template"
	"net/http"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// commentsPage is what the page of comments is made from.
type commentsPage struct {
	Title, Since, Until string
	By, Value, Text     string
	Scores, Dimensions  []choice
	Score               string
	Items               []survey.WorkItem
	Next                string
	Results             string // the page of results
	Style               template.CSS
}

// The scores that can be asked for, from the highest on.
var scores = []choice{{Value: "", Label: "all"}, {Value: "75", Label: "75 or lower"}, {Value: "50", Label: "50 or lower"}, {Value: "25", Label: "25 or lower"}}

// comments shows what customers wrote.
func (h *results) comments(w http.ResponseWriter, r *http.Request, a *asked) error {
	report := h.blankReport(a, a.query.Step)
	p := commentsPage{
		Title: report.Title, Since: a.since, Until: a.until, By: a.query.By, Value: r.Form.Get("value"), Text: r.Form.Get("text"),
		Dimensions: report.Dimensions, Score: r.Form.Get("score"), Results: "../" + strconv.FormatInt(a.query.SurveyID, 10), Style: h.style,
	}
	q := survey.CommentQuery{By: p.By, Value: p.Value, Text: p.Text, ResponseQuery: survey.ResponseQuery{
		SurveyID: a.query.SurveyID, BusinessUnits: a.query.BusinessUnits, Since: a.query.Since, Until: a.query.Until,
		Page: storage.Page{After: r.Form.Get("after"), Limit: 50},
	}}
	p.Dimensions[0].Label = "all"
	for _, s := range scores {
		if s.Chosen = s.Value == p.Score; s.Chosen {
			q.MaxScore, _ = strconv.Atoi(s.Value)
		}
		p.Scores = append(p.Scores, s)
	}
	var err error
	if p.Items, p.Next, err = h.s.Responses().Comments(r.Context(), a.caller.Scope, q); err != nil {
		return err
	}
	return h.render(w, r, "comments.html", p)
}

// instantText is a moment as people read it.
func instantText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
