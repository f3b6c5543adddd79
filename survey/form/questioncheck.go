package form

import (
	"slices"
	"strings"

	"github.com/belfry-go/belfry/internal/filter"
	"github.com/belfry-go/belfry/internal/strictjson"
	"github.com/belfry-go/belfry/keys"
)

// settings says which settings questions of a type have.
type settings struct{ options, bounds, length, rows bool }

var settingsOf = map[QuestionType]settings{
	TextQuestion:     {length: true},
	LongTextQuestion: {length: true},
	NumberQuestion:   {bounds: true},
	RatingQuestion:   {bounds: true},
	NPSQuestion:      {},
	YesNoQuestion:    {},
	ChoiceQuestion:   {options: true},
	MultipleQuestion: {options: true, bounds: true},
	RankingQuestion:  {options: true},
	DateQuestion:     {},
	GridQuestion:     {bounds: true, rows: true},
	PageQuestion:     {},
}

func (c *checker) questions(questions []Question) {
	ids, before := c.once(), map[string]bool{}
	n := 0
	for at, q := range placed(questions) {
		n++
		c.id(strictjson.Member(at, "id"), q.ID)
		c.filter(strictjson.Member(at, "when"), q.When, func(id string) string {
			if !before[id] {
				return "is not a question before this one"
			}
			return ""
		})
		ids.say(strictjson.Member(at, "id"), q.ID)
		c.question(at, q)
		before[q.ID] = q.Type.Asks()
		for i, row := range q.rows() {
			n++
			path := strictjson.Member(strictjson.Element(strictjson.Member(at, "rows"), i), "id")
			c.id(path, row.ID)
			ids.say(path, row.ID)
			before[row.ID] = true
		}
		if other := q.other(); other != nil && slices.ContainsFunc(questions, func(q Question) bool { return q.Added && q.ID == other.ID }) {
			c.id(strictjson.Member(at, "options"), other.ID)
			ids.say(strictjson.Member(at, "options"), other.ID)
			before[other.ID] = true
		}
	}
	c.pages(questions)
	c.length("questions", n, maxQuestions)
	if most := (&Definition{Questions: questions}).MostAnswers(); most > MaxAnswers {
		c.add("questions", "may be answered by %d bytes of JSON, more than %d: give texts a maxLength", most, MaxAnswers)
	}
}

// pages checks where pages of the form begin.
func (c *checker) pages(questions []Question) {
	open := "" // the page that has no question yet
	for at, q := range placed(questions) {
		if q.Type != PageQuestion {
			open = ""
			continue
		}
		if open != "" {
			c.add(open, "is a page without questions")
		}
		open = at
		if q.Required {
			c.add(strictjson.Member(at, "required"), "is not for page")
		}
		if q.When != nil {
			c.add(strictjson.Member(at, "when"), "is not for page: a page whose questions are not asked is passed over")
		}
	}
	if open != "" {
		c.add(open, "is a page without questions")
	}
}

// questionTypes lists the types of questions for a message.
func questionTypes() string {
	var names []string
	for name := range settingsOf {
		names = append(names, string(name))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func (c *checker) question(at string, q *Question) {
	c.words(strictjson.Member(at, "label"), q.Label, maxLine, "")
	c.words(strictjson.Member(at, "help"), q.Help, maxProse, lineBreaks)
	c.ends(at, q)
	c.metric(at, q)
	c.prefill(strictjson.Member(at, "prefill"), q)
	has, known := settingsOf[q.Type]
	if !known {
		c.add(strictjson.Member(at, "type"), "%.40q is not a type of question: take one of %s", q.Type, questionTypes())
		return
	}
	c.options(strictjson.Member(at, "options"), q, has.options)
	c.rows(strictjson.Member(at, "rows"), q, has.rows)
	c.bounds(at, q, has.bounds)
	path := strictjson.Member(at, "maxLength")
	if q.MaxLength != 0 && !has.length {
		c.add(path, "is for questions of text only")
	} else if q.MaxLength < 0 || q.MaxLength > maxAnswer {
		c.add(path, "is not from 1 to %d", maxAnswer)
	}
}

// ends checks the labels of a scale.
func (c *checker) ends(at string, q *Question) {
	for name, t := range map[string]Text{"low": q.Low, "high": q.High} {
		path := strictjson.Member(at, name)
		if len(t) > 0 && !q.Type.scales() {
			c.add(path, "is for rating, nps and grid only")
		}
		c.text(path, t, maxName, "")
	}
}

// metric checks what is said of a rating for its results.
func (c *checker) metric(at string, q *Question) {
	if q.LowIsBetter && q.Type != RatingQuestion && q.Type != GridQuestion {
		c.add(strictjson.Member(at, "lowIsBetter"), "is for rating and grid only")
	}
	path := strictjson.Member(at, "metric")
	least, most, _ := q.Scale()
	switch {
	case q.Metric == "":
	case q.Type != RatingQuestion:
		c.add(path, "is for rating only; nps has its own")
	case q.Metric == MetricNPS && (least != 0 || most != 10 || q.LowIsBetter):
		c.add(path, "nps needs a scale from 0 to 10 whose high end is the good one")
	case q.Metric == MetricCSAT && most-least < 2:
		c.add(path, "csat counts the two best steps of a scale that has more")
	case q.Metric != MetricCSAT && q.Metric != MetricNPS && q.Metric != MetricCES:
		c.add(path, "%.40q is not one of csat, nps and ces", q.Metric)
	}
}

func (c *checker) prefill(path string, q *Question) {
	switch {
	case q.Prefill == "":
		return
	case q.Type.several() || !q.Type.Asks():
		c.add(path, "is for questions with one answer")
	}
	c.eventValue(path, q.Prefill)
}

func (c *checker) options(path string, q *Question, wanted bool) {
	if !wanted {
		if q.Options != nil {
			c.add(path, "are for choice, multiple and ranking only")
		}
		return
	}
	switch {
	case len(q.Options) == 0:
		c.add(path, "is empty: there is nothing to choose from")
	case len(q.Options) == 1 && q.Type == RankingQuestion:
		c.add(path, "has one element: a ranking needs two")
	}
	most := maxOptions
	if q.Type == RankingQuestion {
		most = maxRanked
	}
	c.length(path, len(q.Options), most)
	values := c.once()
	other := false
	for i, o := range q.Options {
		at := strictjson.Element(path, i)
		c.line(strictjson.Member(at, "value"), o.Value, maxName)
		c.text(strictjson.Member(at, "label"), o.Label, maxLine, "")
		values.say(strictjson.Member(at, "value"), o.Value)
		if o.Exclusive && q.Type != MultipleQuestion {
			c.add(strictjson.Member(at, "exclusive"), "is for multiple only")
		}
		if o.Other && q.Type == RankingQuestion {
			c.add(strictjson.Member(at, "other"), "is for choice and multiple only")
		}
		if o.Other && other {
			c.add(strictjson.Member(at, "other"), "is said of an option before this one")
		}
		other = other || o.Other
	}
}

// rows checks those of a grid.
func (c *checker) rows(path string, q *Question, wanted bool) {
	switch {
	case !wanted && q.Rows != nil:
		c.add(path, "are for grid only")
	case wanted && len(q.Rows) == 0:
		c.add(path, "is empty: there is nothing to rate")
	}
	c.length(path, len(q.Rows), maxRows)
	for i, r := range q.Rows {
		c.words(strictjson.Member(strictjson.Element(path, i), "label"), r.Label, maxLine, "")
	}
}

// bounds checks min and max.
func (c *checker) bounds(at string, q *Question, wanted bool) {
	low := c.bound(strictjson.Member(at, "min"), q, q.Min, wanted)
	high := c.bound(strictjson.Member(at, "max"), q, q.Max, wanted)
	if !low || !high || !wanted {
		return
	}
	least, most := q.limits()
	n, ok := filter.CompareNumbers(least, most)
	switch {
	case !ok: // one of them is open
	case q.Type.scales() && n >= 0:
		c.add(strictjson.Member(at, "min"), "is %s, not below max, which is %s", least, most)
	case n > 0:
		c.add(strictjson.Member(at, "min"), "is %s, above max, which is %s", least, most)
	case q.Type.scales():
		steps := int64(maxScale)
		if q.Type == GridQuestion {
			steps = maxGridScale
		}
		from, _ := wholeNumber(Number(least))
		if to, _ := wholeNumber(Number(most)); to-from >= steps {
			c.add(strictjson.Member(at, "max"), "makes a scale of more than %d steps", steps)
		}
	}
}

// bound checks one of min and max, and reports whether it can be compared.
func (c *checker) bound(path string, q *Question, n *Number, wanted bool) bool {
	if n == nil {
		return true
	}
	if !wanted {
		c.add(path, "is for number, rating, grid and multiple only")
		return false
	}
	if _, err := keys.Decimal(n.String()); err != nil {
		c.add(path, "is beyond what a number may be: 64 digits, an exponent of 100")
		return false
	}
	if q.Type == NumberQuestion {
		return true
	}
	whole, ok := wholeNumber(*n)
	switch {
	case !ok:
		c.add(path, "is not a whole number of at most 9 digits")
	case q.Type == MultipleQuestion && (whole < 0 || whole > int64(len(q.Options))):
		c.add(path, "is not from 0 to the number of options, %d", len(q.Options))
		return false
	}
	return ok
}
