package surveyhttp

import (
	"fmt"
	"html/template"
	"maps"
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
	Title                                  string
	Since, Until, By                       string
	Dimensions, Steps, Compares, Languages []choice
	Step                                   string
	// Earlier is the time that is compared with; empty: none. Undated says that one was asked for, and
	// no days.
	Earlier       string
	Undated       bool
	Total, Before survey.ResultGroup
	Funnel        []bar
	Questions     []questionReport
	Columns       []column
	Trend         []trendPoint
	Chart         *chart
	Values        []valueReport
	Hidden        int
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
	Label     string
	Low, High string // what the ends of a scale mean
	// Name and Figure are what the question comes to, and Was what it came to in the time before.
	Name, Figure, Was string
	Bars              []bar
}

// Ranks says that options have a mean place, and bars tell how often one was first.
func (q questionReport) Ranks() bool { return q.Type == form.RankingQuestion }

// Note is how many have answered, and what else there is to say.
func (q questionReport) Note() string {
	out := fmt.Sprintf("n = %d", q.N)
	if q.Few {
		return out + fmt.Sprintf(": shown from %d answers on, so that no person is recognised", survey.MinResponses)
	}
	if f, ok := q.Mean(); ok && q.Metric != "" && q.Metric != form.MetricCES {
		out += ", mean " + mean(f, ok)
	}
	return out
}

// bar is an answer with its share in percent, which is as wide as its bar is drawn.
type bar struct {
	Label   string
	N       int
	Percent float64
	Begins  float64 // where it begins in a bar of all of them, in percent
	Shade   int     // of a step of a scale: from 0, the bad end, to 10
	Place   string  // the mean one, in a ranking
	Was     string  // its share in the time before
}

type trendPoint struct {
	From      string
	Responses int
	Rate      string
	Figures   []string // one for each of the columns
}

// valueReport is a value of a dimension beside others.
type valueReport struct {
	Value   string
	Group   survey.ResultGroup
	Rate    string
	Figures []string // one for each of the columns
}

// column is the figure of a question, beside others in a table.
type column struct {
	Name, Of string // Of is the question, where the name does not tell
	of       survey.QuestionResult
	figure   figure
}

// in is how the figure of a group is written.
func (c column) in(g survey.ResultGroup) string {
	return c.figure.write(c.figure.of(matching(g.Questions, c.of)))
}

// matching is a question among others; its zero value, if it is not there.
func matching(among []survey.QuestionResult, q survey.QuestionResult) survey.QuestionResult {
	for _, o := range among {
		if o.ID == q.ID && o.Type == q.Type && o.Least == q.Least && o.Most == q.Most {
			return o
		}
	}
	return survey.QuestionResult{}
}

// figure is what a question comes to, how that is written, and between which values it is.
type figure struct {
	name        string
	of          func(survey.QuestionResult) (float64, bool)
	write       func(float64, bool) string
	least, most float64
}

// change is how far the figure has moved, between the values as they are written.
func (f figure) change(from, to float64) string {
	digits := 0
	if f.name == "Mean" || f.name == "CES" {
		digits = 1
	}
	scale := math.Pow10(digits)
	return minus(fmt.Sprintf("%+.*f", digits, (math.Round(to*scale)-math.Round(from*scale))/scale))
}

// minus writes a number with the sign that belongs to it; of zero none.
func minus(text string) string {
	if strings.Trim(text, "+-0.") == "" {
		return strings.TrimLeft(text, "+-")
	}
	return strings.Replace(text, "-", "−", 1)
}

// figureOf is the metric of a question, or else its mean; false: it has neither.
func figureOf(q survey.QuestionResult) (figure, bool) {
	least, most := float64(q.Least), float64(q.Most)
	switch {
	case q.Metric == form.MetricCSAT:
		return figure{"CSAT", survey.QuestionResult.CSAT, percent, 0, 100}, true
	case q.Metric == form.MetricNPS:
		return figure{"NPS", survey.QuestionResult.NPS, signed, -100, 100}, true
	case q.Metric == form.MetricCES:
		return figure{"CES", survey.QuestionResult.CES, mean, least, most}, true
	case q.Type.Rates() || q.Type == form.NumberQuestion:
		return figure{"Mean", survey.QuestionResult.Mean, mean, least, most}, true
	}
	return figure{}, false
}

// mean and the others are written with one digit, and a dash where there is none.
func mean(f float64, ok bool) string {
	if !ok {
		return "–"
	}
	return minus(fmt.Sprintf("%.1f", f))
}

func percent(f float64, ok bool) string {
	if !ok {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", f)
}

// bare is a share among others in percent.
func bare(f float64, ok bool) string { return strings.TrimSuffix(percent(f, ok), " %") }

func signed(f float64, ok bool) string {
	if !ok {
		return "–"
	}
	return minus(fmt.Sprintf("%+.0f", f))
}

func rate(g survey.ResultGroup) string {
	share, ok := g.ResponseRate()
	return percent(100*share, ok)
}

var resultTemplate = template.Must(template.New("page.html").Funcs(template.FuncMap{
	"wait": wait, "moment": instantText, "list": func(all ...any) []any { return all },
}).ParseFS(assets, "page/results/*.html"))

var shippedResultStyle = template.CSS(asset("page/results/page.css"))

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
	get := func(q survey.ResultQuery) (survey.Result, error) {
		return h.s.Results().Get(r.Context(), a.caller.Scope, q)
	}
	step := a.query.Step
	if step == "" {
		step = survey.Monthly
	}
	p := h.blankReport(a, step)
	var err error
	total := func(since, until time.Time) (g survey.ResultGroup) {
		q := a.query
		q.By, q.Step, q.Since, q.Until = "", "", since, until
		all, failed := get(q)
		if err == nil {
			err = failed
		}
		if len(all.Groups) > 0 {
			g = all.Groups[0]
		}
		return g
	}
	p.Total = total(a.query.Since, a.query.Until)
	if since, until, dated := a.earlier(); dated {
		p.Earlier = day(since) + " to " + day(until.AddDate(0, 0, -1))
		p.Before = total(since, until)
	}
	if err != nil {
		return nil, err
	}
	p.Funnel = p.funnel()
	for _, q := range p.Total.Questions {
		p.Questions = append(p.Questions, p.question(a, q))
	}
	p.columnsOf()
	byTime := a.query
	byTime.By, byTime.Step = "", step
	trend, err := get(byTime)
	if err != nil {
		return nil, err
	}
	p.trend(trend.Groups)
	if a.query.By == "" {
		return p, nil
	}
	byValue := a.query
	byValue.Step = ""
	by, err := get(byValue)
	p.Hidden = by.Hidden
	for _, g := range by.Groups {
		p.Values = append(p.Values, valueReport{g.Value, g, rate(g), p.figures(g)})
	}
	return p, err
}

// figures are those of the columns in a group.
func (p *report) figures(g survey.ResultGroup) (out []string) {
	for _, c := range p.Columns {
		out = append(out, c.in(g))
	}
	return out
}

// blankReport has what the page shows without any counts.
func (h *results) blankReport(a *asked, step survey.Step) *report {
	p := &report{
		Title: strings.TrimSpace(form.Unfilled(a.definition.Title.For(a.locale()))), Since: a.since, Until: a.until, By: a.query.By, Step: string(step), Style: h.style,
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
	for _, c := range []choice{{Label: "nothing"}, {Value: compareBefore, Label: "the time before"}, {Value: compareYear, Label: "a year before"}} {
		p.Compares = append(p.Compares, choice{c.Value, c.Label, c.Value == a.compare})
	}
	_, _, dated := a.earlier()
	p.Undated = a.compare != "" && !dated
	if all := languages(&a.definition); len(all) > 1 {
		for _, l := range all {
			p.Languages = append(p.Languages, choice{l, l, l == a.definition.Title.Locale(a.locale())})
		}
	}
	return p
}

// languages are those that the title and the questions of a survey are written in.
func languages(d *form.Definition) []string {
	in := map[string]bool{}
	for _, t := range append([]form.Text{d.Title}, labels(d)...) {
		for locale := range t {
			in[locale] = locale != ""
		}
	}
	maps.DeleteFunc(in, func(_ string, named bool) bool { return !named })
	return slices.Sorted(maps.Keys(in))
}

func labels(d *form.Definition) (out []form.Text) {
	for _, q := range d.Questions {
		out = append(out, q.Label)
	}
	return out
}

// What is compared with.
const (
	compareBefore = "before"
	compareYear   = "year"
)

// earlier is the time that is compared with; false: there is none. Before whole months are as many.
func (a *asked) earlier() (since, until time.Time, ok bool) {
	since, until = a.query.Since, a.query.Until
	switch {
	case a.compare == "" || since.IsZero() || until.IsZero():
		return since, until, false
	case a.compare == compareYear:
		return since.AddDate(-1, 0, 0), until.AddDate(-1, 0, 0), true
	case since.Day() == 1 && until.Day() == 1:
		months := 12*(until.Year()-since.Year()) + int(until.Month()) - int(since.Month())
		return since.AddDate(0, -months, 0), since, true
	}
	return since.Add(since.Sub(until)), since, true
}

// funnel is how far the links of the time have come.
func (p *report) funnel() (out []bar) {
	share := func(n int, g survey.ResultGroup) float64 { return 100 * float64(n) / float64(max(g.Asked, 1)) }
	for _, stage := range []struct {
		name string
		of   func(survey.ResultGroup) int
	}{
		{"Asked", func(g survey.ResultGroup) int { return g.Asked }},
		{"Opened", func(g survey.ResultGroup) int { return g.Opened }},
		{"Answered", func(g survey.ResultGroup) int { return g.Answered }},
	} {
		out = append(out, bar{
			Label: stage.name, N: stage.of(p.Total), Percent: share(stage.of(p.Total), p.Total), Was: bare(share(stage.of(p.Before), p.Before), p.Before.Asked > 0),
		})
	}
	return out
}

// question is what was answered to a question.
func (p *report) question(a *asked, q survey.QuestionResult) questionReport {
	before := matching(p.Before.Questions, q)
	out := questionReport{QuestionResult: q, Label: a.definition.Label(q.ID, a.locale()), Bars: barsOf(a, q, before)}
	if now := a.definition.Question(q.ID); now != nil && q.Type.Rates() {
		out.Low, out.High = now.Low.For(a.locale()), now.High.For(a.locale())
	}
	f, ok := figureOf(q)
	if !ok || q.Few {
		return out
	}
	value, _ := f.of(q)
	out.Name, out.Figure = f.name, f.write(value, true)
	if p.Earlier == "" {
		return out
	}
	out.Was = fmt.Sprintf("before: n = %d", before.N)
	if was, ok := f.of(before); ok {
		out.Was = fmt.Sprintf("before: %s, n = %d; change: %s", f.write(was, true), before.N, f.change(was, value))
	}
	return out
}

// columnsOf are the metrics of questions, or else the mean of the first rating.
func (p *report) columnsOf() {
	times := map[form.Metric]int{}
	for _, q := range p.Questions {
		times[q.Metric]++
	}
	for _, q := range p.Questions {
		f, _ := figureOf(q.QuestionResult)
		if q.Metric == "" {
			continue
		}
		c := column{Name: f.name, of: q.QuestionResult, figure: f}
		if times[q.Metric] > 1 {
			c.Of = q.Label
		}
		p.Columns = append(p.Columns, c)
	}
	if i := slices.IndexFunc(p.Questions, func(q questionReport) bool { return q.Type.Rates() }); i >= 0 && len(p.Columns) == 0 {
		q := p.Questions[i]
		f, _ := figureOf(q.QuestionResult)
		p.Columns = []column{{Name: f.name, Of: q.Label, of: q.QuestionResult, figure: f}}
	}
}

// barsOf are the answers to a question: of a rating all steps of its scale.
func barsOf(a *asked, q, before survey.QuestionResult) (out []bar) {
	if q.Few {
		return nil
	}
	counts, earlier := map[string]survey.ValueCount{}, map[string]int{}
	var values []string
	for _, c := range q.Counts {
		counts[c.Value] = c
		values = append(values, c.Value)
	}
	for _, c := range before.Counts {
		earlier[c.Value] = c.N
	}
	if q.Type.Rates() {
		values = nil
		for step := q.Least; step <= q.Most; step++ {
			values = append(values, fmt.Sprint(step))
		}
	}
	share := func(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }
	begins := 0.0
	for i, value := range values {
		c := counts[value]
		b := bar{
			Label: answerLabel(a, q, value), N: c.N, Percent: share(c.N, q.N), Begins: begins, Place: mean(c.Place, c.Place > 0),
			Was: bare(share(earlier[value], before.N), before.N > 0 && !before.Few), Shade: 10 * i / max(len(values)-1, 1),
		}
		if q.LowIsBetter {
			b.Shade = 10 - b.Shade
		}
		begins += b.Percent
		out = append(out, b)
	}
	return out
}

// answerLabel is what an answer is called.
func answerLabel(a *asked, q survey.QuestionResult, value string) string {
	texts := textsFor(shippedTexts, a.locale())
	switch {
	case q.Type == form.YesNoQuestion && value == "yes":
		return texts.Yes
	case q.Type == form.YesNoQuestion && value == "no":
		return texts.No
	}
	return a.definition.OptionLabel(q.ID, value, a.locale())
}

// trend takes the periods of the trend, and draws the first of the columns.
func (p *report) trend(groups []survey.ResultGroup) {
	var line []point
	for _, g := range groups {
		p.Trend = append(p.Trend, trendPoint{g.From.Format(time.DateOnly), g.Responses, rate(g), p.figures(g)})
		if len(p.Columns) > 0 {
			if f, ok := p.Columns[0].figure.of(matching(g.Questions, p.Columns[0].of)); ok {
				line = append(line, point{g.From, f})
			}
		}
	}
	if len(line) > 0 {
		p.Chart = chartOf(p.Columns[0], line)
	}
}
