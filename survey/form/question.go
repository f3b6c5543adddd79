package form

import (
	"cmp"
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-go/belfry/internal/filter"
	"github.com/belfry-go/belfry/internal/strictjson"
	"github.com/belfry-go/belfry/keys"
)

// Question is one question of a form: enough to draw it and to validate its answer.
type Question struct {
	// ID is what answers, filters and exports call it by.
	ID       string       `json:"id"`
	Type     QuestionType `json:"type"`
	Label    Text         `json:"label,omitzero"`
	Help     Text         `json:"help,omitzero"`
	Required bool         `json:"required,omitempty"`
	// Options are those of a choice.
	Options []Choice `json:"options,omitempty"`
	// Rows are those of a grid, each a rating.
	Rows []Row `json:"rows,omitempty"`
	// Min and Max bound a number, a rating and those of a grid (1 to 5 unless stated), and the
	// count of options that a multiple choice takes.
	Min *Number `json:"min,omitempty"`
	Max *Number `json:"max,omitempty"`
	// MaxLength bounds a text in characters; default 4000, which is also the most.
	MaxLength int `json:"maxLength,omitempty"`
	// Low and High say what the ends of the scale of a rating or a grid mean.
	Low  Text `json:"low,omitzero"`
	High Text `json:"high,omitzero"`
	// LowIsBetter says that the low end of the scale of a rating or a grid is the good one, as
	// of effort.
	LowIsBetter bool `json:"lowIsBetter,omitempty"`
	// Metric is what results count of a rating beside its mean; empty: nothing.
	Metric Metric `json:"metric,omitempty"`
	// Prefill is a path of the event, such as candidate.name, whose value the form begins
	// with, if it is an answer: whoever has the link sees it. Not of a multiple choice or a
	// ranking.
	Prefill string `json:"prefill,omitempty"`
	// When hides the question unless the answers so far match. An answer to a
	// hidden question is dropped.
	When *Filter `json:"when,omitempty"`

	// Added says that it comes from another question: an option asks for it, see [Choice], or it
	// is a row of Grid.
	Added bool      `json:"-"`
	Grid  *Question `json:"-"`
}

// Row is a row of a grid. [Parse] adds a question for it behind the grid, a rating with the id
// {grid}.{row}, by which answers, filters, results and exports call it.
type Row struct {
	ID    string `json:"id"`
	Label Text   `json:"label,omitzero"` // empty: the id
}

// QuestionType says what an answer looks like.
type QuestionType string

// The types of question.
const (
	TextQuestion     QuestionType = "text"     // a line; a string
	LongTextQuestion QuestionType = "longText" // several lines; a string
	NumberQuestion   QuestionType = "number"   // a decimal number
	RatingQuestion   QuestionType = "rating"   // a whole number from Min to Max
	NPSQuestion      QuestionType = "nps"      // a rating from 0 to 10: would you recommend us?
	YesNoQuestion    QuestionType = "yesNo"    // "yes" or "no"
	ChoiceQuestion   QuestionType = "choice"   // the value of one option
	MultipleQuestion QuestionType = "multiple" // values of options, each once
	RankingQuestion  QuestionType = "ranking"  // values of all options, each once, the first one first
	DateQuestion     QuestionType = "date"     // 2006-01-02
	GridQuestion     QuestionType = "grid"     // none itself: its rows are ratings
	PageQuestion     QuestionType = "page"     // none: a page of the form begins, with its label and help
)

// several says whether an answer is a list of options.
func (t QuestionType) several() bool { return t == MultipleQuestion || t == RankingQuestion }

// Metric is a figure by which ratings are known.
type Metric string

// The metrics. Of an [NPSQuestion] it is always MetricNPS.
const (
	MetricCSAT Metric = "csat" // customer satisfaction: the share of the two best steps
	MetricNPS  Metric = "nps"  // net promoter score, of a scale from 0 to 10
	MetricCES  Metric = "ces"  // customer effort score: the mean
)

// Rates says whether the answer is a step of a scale.
func (t QuestionType) Rates() bool { return t == RatingQuestion || t == NPSQuestion }

// Asks says whether the question has an answer itself.
func (t QuestionType) Asks() bool { return t != GridQuestion && t != PageQuestion }

// scales says whether the question has a scale.
func (t QuestionType) scales() bool { return t.Rates() || t == GridQuestion }

// Written says whether the answer is a text of the customer's.
func (t QuestionType) Written() bool { return t == TextQuestion || t == LongTextQuestion }

// Chosen says whether an answer can be clicked in a message: it is one of a few values.
func (t QuestionType) Chosen() bool {
	return t.Rates() || t == YesNoQuestion || t == ChoiceQuestion
}

// Choice is one option of a choice.
type Choice struct {
	Value string `json:"value"`
	Label Text   `json:"label,omitzero"` // empty: the value
	// Exclusive, of a multiple choice, is chosen alone, such as "none of these".
	Exclusive bool `json:"exclusive,omitempty"`
	// Other asks for a text when the option is chosen: [Parse] adds a question behind this
	// one, not required, with the id {question}.other and the label of the option. One that
	// the authors wrote under that id takes its place. One option of a question may be it.
	Other bool `json:"other,omitempty"`
}

// mostOther is the most characters that the text beside an option may have.
const mostOther = 500

// other asks what somebody means who has chosen the option that is [Choice.Other]; nil:
// there is none.
func (q *Question) other() *Question {
	i := slices.IndexFunc(q.Options, func(c Choice) bool { return c.Other })
	if i < 0 {
		return nil
	}
	op, o := filter.Equal, q.Options[i]
	if q.Type == MultipleQuestion {
		op = filter.Contains
	}
	label := o.Label
	if len(label) == 0 {
		label = Text{"": o.Value}
	}
	return &Question{
		ID: q.ID + ".other", Type: TextQuestion, Label: label, MaxLength: mostOther,
		When: &Filter{QuestionID: q.ID, Op: op, Value: o.Value}, Added: true,
	}
}

// rows are the questions of a grid.
func (q *Question) rows() []Question {
	out := make([]Question, len(q.Rows))
	for i, r := range q.Rows {
		out[i] = Question{
			ID: q.ID + "." + r.ID, Type: RatingQuestion, Label: r.Label, Required: q.Required, Min: q.Min, Max: q.Max,
			LowIsBetter: q.LowIsBetter, When: q.When, Added: true, Grid: q,
		}
		if len(r.Label) == 0 {
			out[i].Label = Text{"": r.ID}
		}
	}
	return out
}

// withAdded adds the questions that others bring along.
func withAdded(written []Question) []Question {
	var out []Question
	for i := range written {
		out = append(append(out, written[i]), written[i].rows()...)
		other := written[i].other()
		if other != nil && !slices.ContainsFunc(written, func(q Question) bool { return q.ID == other.ID }) {
			out = append(out, *other)
		}
	}
	return out
}

// placed are the questions that the authors wrote, each with its place in the JSON.
func placed(questions []Question) iter.Seq2[string, *Question] {
	return func(yield func(string, *Question) bool) {
		n := 0
		for i := range questions {
			if questions[i].Added {
				continue
			}
			if !yield(strictjson.Element("questions", n), &questions[i]) {
				return
			}
			n++
		}
	}
}

// limits are the least and the most that a number, a rating, and the count of options
// of a multiple choice may be, as decimals; empty: none.
func (q *Question) limits() (least, most string) {
	switch q.Type {
	case RatingQuestion, GridQuestion:
		least, most = "1", "5"
	case NPSQuestion:
		least, most = "0", "10"
	case MultipleQuestion:
		least, most = "0", strconv.Itoa(len(q.Options))
	}
	if q.Min != nil {
		least = q.Min.String()
	}
	if q.Max != nil {
		most = q.Max.String()
	}
	return least, most
}

// Label is what a question is called in a locale, or in the nearest that there is;
// without a label its id.
func (d *Definition) Label(id, locale string) string {
	if q := d.Question(id); q != nil {
		return Unfilled(q.Name(locale))
	}
	return id
}

// Name is what the question is called in a locale, or in the nearest that there is, as its
// authors wrote it: its label, behind that of its grid if it is a row, or its id.
func (q *Question) Name(locale string) string {
	name := cmp.Or(q.Label.For(locale), q.ID)
	if q.Grid == nil || len(q.Grid.Label) == 0 {
		return name
	}
	return q.Grid.Label.For(locale) + ": " + name
}

// OptionLabel is what an answer to a question is called in a locale; without a label the
// answer itself.
func (d *Definition) OptionLabel(id, value, locale string) string {
	if q := d.Question(id); q != nil {
		for _, o := range q.Options {
			if o.Value == value {
				return cmp.Or(o.Label.For(locale), value)
			}
		}
	}
	return value
}

// Scale is from where to where a rating goes; false: it is none.
func (q *Question) Scale() (least, most int, ok bool) {
	if !q.Type.scales() {
		return 0, 0, false
	}
	low, high := q.limits()
	from, _ := wholeNumber(Number(low)) // a checked definition has whole ones
	to, _ := wholeNumber(Number(high))
	return int(from), int(to), true
}

// unasked says that a filter over the answers names a question that there is not.
func (d *Definition) unasked(id string) string {
	if q := d.Question(id); q == nil || !q.Type.Asks() {
		return "is not a question of this survey"
	}
	return ""
}

// Question is the question with that id, or nil.
func (d *Definition) Question(id string) *Question {
	for i := range d.Questions {
		if d.Questions[i].ID == id {
			return &d.Questions[i]
		}
	}
	return nil
}

// Number is a decimal number as it is written, never a float. In a definition it is
// one that [keys.Decimal] takes.
type Number = json.Number

// wholeNumber is the value of a number without a fraction, of at most nine digits.
func wholeNumber(n Number) (value int64, ok bool) {
	canonical, err := keys.Decimal(n.String())
	if err != nil || len(strings.TrimPrefix(canonical, "-")) > 9 {
		return 0, false
	}
	value, err = strconv.ParseInt(canonical, 10, 64)
	return value, err == nil
}

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

func (c *checker) question(at string, q *Question) {
	c.words(strictjson.Member(at, "label"), q.Label, maxLine, "")
	c.words(strictjson.Member(at, "help"), q.Help, maxProse, lineBreaks)
	c.ends(at, q)
	c.metric(at, q)
	c.prefill(strictjson.Member(at, "prefill"), q)
	has, known := settingsOf[q.Type]
	if !known {
		c.add(strictjson.Member(at, "type"), "%.40q is not a type of question", q.Type)
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
		c.add(path, "is no whole number of at most 9 digits")
	case q.Type == MultipleQuestion && (whole < 0 || whole > int64(len(q.Options))):
		c.add(path, "is not from 0 to the number of options, %d", len(q.Options))
		return false
	}
	return ok
}
