package survey

import (
	"github.com/belfry-go/belfry/internal/filter"
	"github.com/belfry-go/belfry/internal/strictjson"
	"github.com/belfry-go/belfry/keys"
)

// settings says which settings questions of a type have.
type settings struct{ options, bounds, length bool }

var settingsOf = map[QuestionType]settings{
	TextQuestion:     {length: true},
	LongTextQuestion: {length: true},
	NumberQuestion:   {bounds: true},
	RatingQuestion:   {bounds: true},
	YesNoQuestion:    {},
	ChoiceQuestion:   {options: true},
	MultipleQuestion: {options: true, bounds: true},
	DateQuestion:     {},
}

func (c *checker) questions(questions []Question) {
	c.length("questions", len(questions), maxQuestions)
	ids := c.once()
	for i := range questions {
		q, at := &questions[i], strictjson.Element("questions", i)
		c.id(strictjson.Member(at, "id"), q.ID)
		c.filter(strictjson.Member(at, "when"), q.When, func(id string) string {
			if _, asked := ids.first[id]; !asked {
				return "is no question before this one"
			}
			return ""
		})
		ids.say(strictjson.Member(at, "id"), q.ID)
		c.question(at, q)
	}
}

func (c *checker) question(at string, q *Question) {
	c.text(strictjson.Member(at, "label"), q.Label, maxLine, "")
	c.text(strictjson.Member(at, "help"), q.Help, maxProse, lineBreaks)
	has, known := settingsOf[q.Type]
	if !known {
		c.add(strictjson.Member(at, "type"), "%.40q is no type of question", q.Type)
		return
	}
	c.options(strictjson.Member(at, "options"), q, has.options)
	c.bounds(at, q, has.bounds)
	path := strictjson.Member(at, "maxLength")
	if q.MaxLength != 0 && !has.length {
		c.add(path, "is for questions of text only")
	} else if q.MaxLength < 0 || q.MaxLength > maxAnswer {
		c.add(path, "is not from 1 to %d", maxAnswer)
	}
}

func (c *checker) options(path string, q *Question, wanted bool) {
	if !wanted {
		if q.Options != nil {
			c.add(path, "are for choice and multiple only")
		}
		return
	}
	if len(q.Options) == 0 {
		c.add(path, "is empty: there is nothing to choose from")
	}
	c.length(path, len(q.Options), maxOptions)
	values := c.once()
	for i, o := range q.Options {
		at := strictjson.Element(path, i)
		c.line(strictjson.Member(at, "value"), o.Value, maxName)
		c.text(strictjson.Member(at, "label"), o.Label, maxLine, "")
		values.say(strictjson.Member(at, "value"), o.Value)
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
	case q.Type == RatingQuestion && n >= 0:
		c.add(strictjson.Member(at, "min"), "is %s, not below max, which is %s", least, most)
	case n > 0:
		c.add(strictjson.Member(at, "min"), "is %s, above max, which is %s", least, most)
	case q.Type == RatingQuestion:
		from, _ := wholeNumber(Number(least))
		if to, _ := wholeNumber(Number(most)); to-from >= maxScale {
			c.add(strictjson.Member(at, "max"), "makes a scale of more than %d steps", maxScale)
		}
	}
}

// bound checks one of min and max, and reports whether it can be compared.
func (c *checker) bound(path string, q *Question, n *Number, wanted bool) bool {
	if n == nil {
		return true
	}
	if !wanted {
		c.add(path, "is for number, rating and multiple only")
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
