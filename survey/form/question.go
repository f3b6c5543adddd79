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
	// with, if it is an answer: a reader of the link sees it. Not of a multiple choice or a
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

// other asks what a person means who has chosen the option that is [Choice.Other]; nil:
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
