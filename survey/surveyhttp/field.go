package surveyhttp

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-go/belfry/survey/form"
)

// Field is a question as a page shows it.
type Field struct {
	// ID is the element's id and unique on the page, Name the control's name.
	ID, Name string
	// Question is the question's id, Type its type.
	Question string
	Type     form.QuestionType
	Control  Control
	// Label is the question itself. Hint says what an answer looks like.
	Label, Help, Hint string
	Required          bool
	// Low and High say what the ends of a scale mean; empty: nothing.
	Low, High string
	// Value is what stands in a control without options.
	Value   string
	Options []Option
	// Rows are those of a grid, each a scale.
	Rows []Field
	// Ranks are the numbers that each option of a ranking may have.
	Ranks []string
	// Page is the one that it is on, from 1.
	Page int
	// Fault says what has to be changed.
	Fault string
	// New says that the question was not there the last time.
	New bool
	// Hidden is a question that the answers so far do not ask; it is there for the
	// script, which goes by When, a [form.Filter] as JSON.
	Hidden bool
	When   string
	Texts  Texts // those of the page
}

// Option is one option of a field.
type Option struct {
	ID, Value, Label string
	Chosen           bool
	Exclusive        bool   // chosen alone
	Rank             string // the number that it has in a ranking
}

// Control is how a question is answered.
type Control string

// The controls.
const (
	LineControl   Control = "line"
	LinesControl  Control = "lines"
	NumberControl Control = "number"
	DateControl   Control = "date"
	ScaleControl  Control = "scale"  // radio buttons side by side
	RadioControl  Control = "radio"  // radio buttons below each other
	SelectControl Control = "select" // a list that opens
	CheckControl  Control = "check"
	RankControl   Control = "rank" // a number for each option
	GridControl   Control = "grid" // scales below each other
)

const (
	mostRadios = 10 // above that a choice is a list
	longest    = 11 // steps of a scale; above that it is a number
)

// Described are the ids of what describes the field, for aria-describedby.
func (f Field) Described() string {
	var ids []string
	for _, part := range []struct{ suffix, text string }{{"-help", f.Help}, {"-hint", f.Hint}, {"-ends", f.Low + f.High}, {"-fault", f.Fault}} {
		if part.text != "" {
			ids = append(ids, f.ID+part.suffix)
		}
	}
	return strings.Join(ids, " ")
}

// First is the id of the control that a link to the field leads to.
func (f Field) First() string {
	if len(f.Rows) > 0 {
		return f.Rows[0].First()
	}
	if len(f.Options) > 0 && f.Control != SelectControl {
		return f.Options[0].ID
	}
	return f.ID
}

// fieldOf draws the n-th question, with what was given as its answer.
func fieldOf(n int, q form.Question, e form.LinkData, locale string, t Texts, given []string) Field {
	f := Field{
		ID: "q" + strconv.Itoa(n), Name: fieldName(q.ID), Question: q.ID, Type: q.Type,
		Label: form.Fill(q.Label.For(locale), e), Help: form.Fill(q.Help.For(locale), e), Required: q.Required, Texts: t,
	}
	if f.Label == "" {
		f.Label = q.ID
	}
	if q.When != nil {
		if when, err := json.Marshal(q.When); err == nil {
			f.When = string(when)
		}
	}
	f.draw(q, locale, t)
	for i := range f.Options {
		f.Options[i].ID = f.ID + "-" + strconv.Itoa(i+1)
		if f.Control == RankControl {
			f.Options[i].Rank = at(given, i)
		} else {
			f.Options[i].Chosen = slices.Contains(given, f.Options[i].Value)
		}
	}
	if len(given) > 0 {
		f.Value = given[0]
	}
	return f
}

// at is one of the values of controls with the same name; empty: there are not that many.
func at(given []string, i int) string {
	if i < len(given) {
		return given[i]
	}
	return ""
}

// draw chooses the control.
func (f *Field) draw(q form.Question, locale string, t Texts) {
	if q.MaxLength > 0 {
		f.Hint = withBounds(t.TooLong, q, locale)
	}
	switch q.Type {
	case form.LongTextQuestion:
		f.Control = LinesControl
	case form.NumberQuestion:
		f.Control = NumberControl
		if q.Min != nil && q.Max != nil {
			f.Hint = withBounds(t.Between, q, locale)
		}
	case form.GridQuestion:
		f.Control, f.Low, f.High = GridControl, q.Low.For(locale), q.High.For(locale)
		f.ends(bounds(q))
	case form.RatingQuestion, form.NPSQuestion:
		f.Low, f.High = q.Low.For(locale), q.High.For(locale)
		if q.Type == form.NPSQuestion && f.Low+f.High == "" {
			f.Low, f.High = t.NotLikely, t.Likely
		}
		f.scale(q, locale, t)
	case form.YesNoQuestion:
		f.Control = RadioControl
		f.Options = []Option{{Value: "yes", Label: t.Yes}, {Value: "no", Label: t.No}}
	case form.ChoiceQuestion:
		f.Control = RadioControl
		if len(q.Options) > mostRadios {
			f.Control = SelectControl
		}
		f.offer(q, locale)
	case form.MultipleQuestion:
		f.Control, f.Hint = CheckControl, howMany(q, t)
		f.offer(q, locale)
	case form.RankingQuestion:
		f.Control, f.Hint = RankControl, withBounds(t.Rank, q, locale)
		f.Ranks = ranks(q)
		f.offer(q, locale)
	case form.DateQuestion:
		f.Control = DateControl
	default:
		f.Control = LineControl
	}
}

// howMany says how many options may be chosen.
func howMany(q form.Question, t Texts) string {
	var out []string
	if q.Min != nil && q.Min.String() != "0" {
		out = append(out, t.TooFew)
	}
	if q.Max != nil {
		if most, err := strconv.Atoi(q.Max.String()); err == nil && most < len(q.Options) {
			out = append(out, t.TooMany)
		}
	}
	if len(out) == 0 {
		return t.AllApply
	}
	return withBounds(strings.Join(out, " "), q, fallbackLocale)
}

func (f *Field) offer(q form.Question, locale string) {
	for _, c := range q.Options {
		label := c.Label.For(locale)
		if label == "" {
			label = c.Value
		}
		f.Options = append(f.Options, Option{Value: c.Value, Label: label, Exclusive: c.Exclusive})
	}
}

// scale draws a rating, as buttons where they find room.
func (f *Field) scale(q form.Question, locale string, t Texts) {
	least, most := bounds(q)
	low, err := strconv.Atoi(least)
	high, err2 := strconv.Atoi(most)
	if err != nil || err2 != nil || high < low || high-low >= longest {
		f.Control, f.Hint = NumberControl, withBounds(t.Between, q, locale)
		f.ends(least, most)
		return
	}
	f.Control = ScaleControl
	for i := low; i <= high; i++ {
		f.Options = append(f.Options, Option{Value: strconv.Itoa(i), Label: strconv.Itoa(i)})
	}
}

// ends says in the hint of a long scale what its ends mean.
func (f *Field) ends(least, most string) {
	for _, end := range [][2]string{{least, f.Low}, {most, f.High}} {
		if end[1] != "" {
			f.Hint = strings.TrimSpace(f.Hint + " " + end[0] + ": " + end[1] + ".")
		}
	}
	f.Low, f.High = "", ""
}

// bounds are the bounds of a question as a customer reads them.
func bounds(q form.Question) (least, most string) {
	switch q.Type {
	case form.RatingQuestion, form.GridQuestion:
		least, most = "1", "5"
	case form.NPSQuestion:
		least, most = "0", "10"
	case form.RankingQuestion:
		most = strconv.Itoa(len(q.Options))
	case form.TextQuestion, form.LongTextQuestion:
		most = "4000"
		if q.MaxLength > 0 {
			most = strconv.Itoa(q.MaxLength)
		}
	}
	if q.Min != nil {
		least = q.Min.String()
	}
	if q.Max != nil {
		most = q.Max.String()
	}
	return least, most
}

// withBounds puts the bounds of a question into a text.
func withBounds(text string, q form.Question, locale string) string {
	least, most := bounds(q)
	return strings.NewReplacer("{min}", spelled(least, locale), "{max}", spelled(most, locale)).Replace(text)
}

// faultText says in the customer's language what is wrong with an answer, as it was typed.
func faultText(t Texts, q form.Question, code form.FaultCode, locale, typed string) string {
	multiple := q.Type == form.MultipleQuestion
	text := t.Invalid
	switch {
	case code == form.FaultRequired:
		text = t.Required
	case q.Type == form.RankingQuestion:
		text = t.Rank
	case code == form.FaultOption:
		text = t.NotOption
	case code == form.FaultExclusive:
		text = t.Alone
	case code == form.FaultLength:
		text = t.TooLong
	case code == form.FaultMin && multiple:
		text = t.TooFew
	case code == form.FaultMin:
		text = t.TooSmall
	case code == form.FaultMax && multiple:
		text = t.TooMany
	case code == form.FaultMax:
		text = t.TooLarge
	case code == form.FaultType && (q.Type == form.NumberQuestion || q.Type.Rates()) && !isOne(typed, locale):
		text = t.Unclear
	case code == form.FaultType && q.Type == form.NumberQuestion:
		text = t.NotNumber
	case code == form.FaultType && q.Type.Rates():
		text = t.NotWhole
	case code == form.FaultType && q.Type == form.DateQuestion:
		text = t.NotDate
	}
	return withBounds(text, q, locale)
}
