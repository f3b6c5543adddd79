package surveyhttp

import (
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// report is what the page of results is made from.
type report struct {
	Title             string
	Since, Until      string
	By, Step          string
	Dimensions, Steps []choice
	Total             survey.ResultGroup
	Questions         []questionReport
	Trend             []trendPoint
	Line              template.HTML
	TrendOf           string // the question whose mean the trend shows
	Columns           []column
	Values            []valueReport
	Hidden            int
	// Addresses of exports, those of responses empty for a caller who may not have them. The
	// second of a CSV has semicolons.
	ResultsCSV, ResponsesCSV [2]string
	JSON, Lines, Comments    string
	Style                    template.CSS
}

// ByName is the dimension as people call it.
func (p *report) ByName() string { return strings.TrimPrefix(p.By, "candidate.") }

// choice is an option of the page's own form.
type choice struct {
	Value, Label string
	Chosen       bool
}

type questionReport struct {
	survey.QuestionResult
	Label string
	Bars  []bar
}

// Ranks says that options have a mean place, and bars tell how often one was first.
func (q questionReport) Ranks() bool { return q.Type == form.RankingQuestion }

// bar is an answer with its share in percent, which is as wide as its bar is drawn.
type bar struct {
	Label   string
	N       int
	Percent float64
	Place   string // the mean one, in a ranking
}

type trendPoint struct {
	From        string
	Responses   int
	Mean        string
	Rate        string
	mean        float64
	hasMean     bool
	fromInstant time.Time
}

// valueReport is a value of a dimension beside others.
type valueReport struct {
	Value   string
	Group   survey.ResultGroup
	Rate    string
	Figures []string // one for each of the columns
}

// column is a figure of a question, beside others in the table of values.
type column struct {
	Name, Of string // Of is the question, where the name does not tell
	id       string
	figure   func(survey.QuestionResult) string
}

// columnsOf are the metrics of questions, or else the mean of the first rating.
func (p *report) columnsOf() {
	times := map[form.Metric]int{}
	for _, q := range p.Questions {
		times[q.Metric]++
	}
	for _, q := range p.Questions {
		name, figure := metricFigure(q.Metric)
		if figure == nil {
			continue
		}
		c := column{Name: name, id: q.ID, figure: figure}
		if times[q.Metric] > 1 {
			c.Of = q.Label
		}
		p.Columns = append(p.Columns, c)
	}
	if q := firstRating(p.Total.Questions); q != nil && len(p.Columns) == 0 {
		p.Columns = []column{{Name: "Mean", id: q.ID, figure: func(q survey.QuestionResult) string { return mean(q.Mean()) }}}
	}
}

// metricFigure is what a metric is called, and how it is written; nil: it is none.
func metricFigure(m form.Metric) (name string, figure func(survey.QuestionResult) string) {
	switch m {
	case form.MetricCSAT:
		return "CSAT", func(q survey.QuestionResult) string { return percent(q.CSAT()) }
	case form.MetricNPS:
		return "NPS", func(q survey.QuestionResult) string { return signed(q.NPS()) }
	case form.MetricCES:
		return "CES", func(q survey.QuestionResult) string { return mean(q.CES()) }
	}
	return "", nil
}

// mean and the others are written with one digit, and a dash where there is none.
func mean(f float64, ok bool) string {
	if !ok {
		return "–"
	}
	return fmt.Sprintf("%.1f", f)
}

func percent(f float64, ok bool) string {
	if !ok {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", f)
}

func rate(g survey.ResultGroup) string {
	share, ok := g.ResponseRate()
	return percent(100*share, ok)
}

// Figures are what a question comes to, each once.
func (q questionReport) Figures() string {
	out := fmt.Sprintf("n = %d", q.N)
	if q.Few {
		return out + fmt.Sprintf(": shown from %d answers on, so that no person is recognised", survey.MinResponses)
	}
	if f, ok := q.Mean(); ok && q.Metric != form.MetricCES {
		out += ", mean " + mean(f, ok)
	}
	if name, figure := metricFigure(q.Metric); figure != nil {
		out += ", " + name + " " + figure(q.QuestionResult)
	}
	return out
}

var resultTemplate = template.Must(template.New("page.html").Funcs(template.FuncMap{
	"rate": rate, "wait": wait, "moment": instantText,
}).ParseFS(assets, "page/results/*.html"))

var shippedResultStyle = template.CSS(asset("page/results/page.css"))

func signed(f float64, ok bool) string {
	if !ok {
		return "–"
	}
	return fmt.Sprintf("%+.0f", f)
}

// wait is a length of time for people.
func wait(d time.Duration) string {
	switch {
	case d == 0:
		return "–"
	case d < time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.1f h", d.Hours())
	}
	return fmt.Sprintf("%.1f days", d.Hours()/24)
}

// report asks for all that the page shows.
func (h *results) report(r *http.Request, a *asked) (*report, error) {
	get := func(by string, step survey.Step) (survey.Result, error) {
		q := a.query
		q.By, q.Step = by, step
		return h.s.Results().Get(r.Context(), a.caller.Scope, q)
	}
	all, err := get("", "")
	if err != nil {
		return nil, err
	}
	step := a.query.Step
	if step == "" {
		step = survey.Monthly
	}
	trend, err := get("", step)
	if err != nil {
		return nil, err
	}
	p := h.blankReport(a, step)
	if len(all.Groups) > 0 {
		p.Total = all.Groups[0]
	}
	for _, q := range p.Total.Questions {
		p.Questions = append(p.Questions, questionReport{q, a.definition.Label(q.ID, fallbackLocale), barsOf(a, q)})
	}
	p.columnsOf()
	p.trend(a, trend.Groups)
	if a.query.By == "" {
		return p, nil
	}
	by, err := get(a.query.By, "")
	if err != nil {
		return nil, err
	}
	p.Hidden = by.Hidden
	for _, g := range by.Groups {
		v := valueReport{Value: g.Value, Group: g, Rate: rate(g)}
		for _, c := range p.Columns {
			figure := c.figure(survey.QuestionResult{})
			if i := slices.IndexFunc(g.Questions, func(q survey.QuestionResult) bool { return q.ID == c.id }); i >= 0 {
				figure = c.figure(g.Questions[i])
			}
			v.Figures = append(v.Figures, figure)
		}
		p.Values = append(p.Values, v)
	}
	return p, nil
}

// blankReport has what the page shows without any counts.
func (h *results) blankReport(a *asked, step survey.Step) *report {
	p := &report{
		Title: strings.TrimSpace(form.Unfilled(a.definition.Title.For(fallbackLocale))), Since: a.since, Until: a.until, By: a.query.By, Step: string(step), Style: h.style,
		ResultsCSV: [2]string{a.with("results.csv", nil), a.with("results.csv", url.Values{"separator": {"semicolon"}})}, JSON: a.with("results.json", nil),
	}
	if p.Title == "" {
		p.Title = fmt.Sprintf("Survey %d", a.query.SurveyID)
	}
	if a.caller.Responses {
		zone := h.zone.String()
		p.ResponsesCSV = [2]string{a.with("responses.csv", url.Values{"labels": {""}, "zone": {zone}}), a.with("responses.csv", url.Values{"labels": {""}, "zone": {zone}, "separator": {"semicolon"}})}
		p.Lines, p.Comments = a.with("responses.jsonl", nil), a.with("comments", nil)
	}
	p.Dimensions = append(p.Dimensions, choice{"", "nothing", a.query.By == ""})
	for _, by := range append([]string{survey.ByUnit, survey.ByTrigger, survey.ByLocale}, a.definition.Dimensions...) {
		p.Dimensions = append(p.Dimensions, choice{by, strings.TrimPrefix(by, "candidate."), by == a.query.By})
	}
	for _, s := range []survey.Step{survey.Daily, survey.Weekly, survey.Monthly} {
		p.Steps = append(p.Steps, choice{string(s), string(s), s == step})
	}
	return p
}

// firstRating is the question that stands for the whole in tables and in the trend.
func firstRating(questions []survey.QuestionResult) *survey.QuestionResult {
	if i := slices.IndexFunc(questions, func(q survey.QuestionResult) bool { return q.Type.Rates() }); i >= 0 {
		return &questions[i]
	}
	return nil
}

// The line is drawn in units of its own, and scales to the page.
const (
	lineWidth  = 600.0
	lineHeight = 160.0
	lineMargin = 12.0
)

// barsOf are the answers to a question: of a rating all steps of its scale.
func barsOf(a *asked, q survey.QuestionResult) (out []bar) {
	if q.Few {
		return nil
	}
	counts, places := map[string]int{}, map[string]float64{}
	for _, c := range q.Counts {
		counts[c.Value] = c.N
		places[c.Value] = c.Place
	}
	var values []string
	if q.Type.Rates() {
		for step := q.Least; step <= q.Most; step++ {
			values = append(values, fmt.Sprint(step))
		}
	} else {
		for _, c := range q.Counts {
			values = append(values, c.Value)
		}
	}
	for _, value := range values {
		share := float64(counts[value]) / float64(max(q.N, 1))
		out = append(out, bar{Label: answerLabel(a, q, value), N: counts[value], Percent: 100 * share, Place: mean(places[value], places[value] > 0)})
	}
	return out
}

// answerLabel is what an answer is called.
func answerLabel(a *asked, q survey.QuestionResult, value string) string {
	texts := shippedTexts[fallbackLocale]
	switch {
	case q.Type == form.YesNoQuestion && value == "yes":
		return texts.Yes
	case q.Type == form.YesNoQuestion && value == "no":
		return texts.No
	}
	return a.definition.OptionLabel(q.ID, value, fallbackLocale)
}

// trend takes the periods of the trend, and draws the mean of the first rating.
func (p *report) trend(a *asked, groups []survey.ResultGroup) {
	top := firstRating(p.Total.Questions)
	for _, g := range groups {
		point := trendPoint{From: g.From.Format(time.DateOnly), Responses: g.Responses, Rate: rate(g), Mean: "–", fromInstant: g.From}
		if top != nil {
			if i := slices.IndexFunc(g.Questions, func(q survey.QuestionResult) bool {
				return q.ID == top.ID && q.Most == top.Most && q.Least == top.Least
			}); i >= 0 {
				point.mean, point.hasMean = g.Questions[i].Mean()
				point.Mean = mean(point.mean, point.hasMean)
			}
		}
		p.Trend = append(p.Trend, point)
	}
	if top != nil {
		p.TrendOf = a.definition.Label(top.ID, fallbackLocale)
		p.Line = line(p.Trend, float64(top.Least), float64(top.Most))
	}
}

// line draws the means over time: a polyline with a dot at each period that has one.
func line(points []trendPoint, least, most float64) template.HTML {
	points = slices.DeleteFunc(slices.Clone(points), func(t trendPoint) bool { return !t.hasMean })
	if len(points) == 0 {
		return ""
	}
	first, last := points[0].fromInstant, points[len(points)-1].fromInstant
	span := math.Max(float64(last.Sub(first)), 1)
	var path, dots strings.Builder
	for _, t := range points {
		x := lineMargin + (lineWidth-2*lineMargin)*float64(t.fromInstant.Sub(first))/span
		y := lineHeight - lineMargin - (lineHeight-2*lineMargin)*(t.mean-least)/(most-least)
		fmt.Fprintf(&path, "%.1f,%.1f ", x, y)
		fmt.Fprintf(&dots, `<circle class="dot" cx="%.1f" cy="%.1f" r="3"/>`, x, y)
	}
	return template.HTML(fmt.Sprintf(`<svg class="line" viewBox="0 0 %.0f %.0f" role="presentation" aria-hidden="true"><polyline points="%s"/>%s</svg>`, //nolint:gosec // numbers only
		lineWidth, lineHeight, strings.TrimSpace(path.String()), dots.String()))
}
