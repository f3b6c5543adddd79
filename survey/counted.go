package survey

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/belfry-go/belfry/survey/form"
)

// counted is how many links and responses there are, and how often which answer was
// given. It holds nothing of a person: no text, no date, and no number but in a sum.
type counted struct {
	// Asked links went out, Opened ones showed their form, Answered ones have a response. A link
	// that is one of them is those before it, too. All are of the day on which the links were made.
	Asked    int `json:"a,omitempty"`
	Opened   int `json:"o,omitempty"`
	Answered int `json:"r,omitempty"`
	// Responses are of the day on which they came. Waits of them came after a send,
	// Waited seconds after it in all.
	Responses int   `json:"n,omitempty"`
	Waits     int   `json:"w,omitempty"`
	Waited    int64 `json:"s,omitempty"`
	// Questions are by questionKey.
	Questions map[string]*given `json:"q,omitempty"`
}

// given is what was answered to one question.
type given struct {
	N      int            `json:"n"`
	Values map[string]int `json:"v,omitempty"` // of those that there are few of
	Sum    string         `json:"s,omitempty"` // of numbers: an exact fraction
}

// add adds what was counted elsewhere.
func (c *counted) add(o *counted) {
	c.Asked += o.Asked
	c.Opened += o.Opened
	c.Answered += o.Answered
	c.Responses += o.Responses
	c.Waits += o.Waits
	c.Waited += o.Waited
	for key, theirs := range o.Questions {
		if c.Questions == nil {
			c.Questions = map[string]*given{}
		}
		mine := c.Questions[key]
		if mine == nil {
			mine = &given{}
			c.Questions[key] = mine
		}
		mine.add(theirs)
	}
}

func (g *given) add(o *given) {
	g.N += o.N
	for value, n := range o.Values {
		if g.Values == nil {
			g.Values = map[string]int{}
		}
		g.Values[value] += n
	}
	if o.Sum != "" {
		sum := new(big.Rat)
		sum.Add(rational(g.Sum), rational(o.Sum))
		g.Sum = sum.RatString()
	}
}

// rational is a decimal number, or a fraction; what is neither is zero.
func rational(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return new(big.Rat)
	}
	return r
}

// questionKey tells questions apart in what is counted: a changed scale makes another
// one, since its answers cannot be added up with the older ones.
func questionKey(q *form.Question) string {
	key := q.ID + ":" + string(q.Type)
	if least, most, ok := q.Scale(); ok {
		key += fmt.Sprintf(":%d:%d", least, most)
	}
	return key
}

// countAnswers counts one response.
func countAnswers(d *form.Definition, a *form.Answers) *counted {
	out := &counted{Responses: 1, Questions: map[string]*given{}}
	for i := range d.Questions {
		q := &d.Questions[i]
		value, ok := a.Values[q.ID]
		if !ok {
			continue
		}
		g := &given{N: 1}
		switch v := value.(type) {
		case []any:
			g.Values = map[string]int{}
			for i, option := range v {
				if q.Type == form.RankingQuestion {
					g.Values[placeKey(i+1, option.(string))] = 1
				} else {
					g.Values[option.(string)] = 1
				}
			}
		case json.Number:
			if q.Type == form.NumberQuestion {
				g.Sum = rational(v.String()).RatString()
			} else {
				g.Values = map[string]int{v.String(): 1}
			}
		case string:
			if q.Type == form.YesNoQuestion || q.Type == form.ChoiceQuestion {
				g.Values = map[string]int{v: 1}
			}
		}
		out.Questions[questionKey(q)] = g
	}
	return out
}

// fact is what happened about one link on a day, under which values of the dimensions: all that the
// results keep of it.
type fact struct {
	Unit   string            `json:"unit,omitempty"`
	Under  map[string]string `json:"under"` // values by dimension
	Day    string            `json:"day"`   // such as 2026-05-14
	Counts *counted          `json:"counts"`
}

// The dimensions that every survey has, beside the paths that its definition declares.
const (
	// ByUnit are the business units of versions.
	ByUnit = "unit"
	// ByTrigger are triggers by id, ByLocale locales of recipients as events have them.
	ByTrigger = "trigger"
	ByLocale  = "locale"
)

// dayOf is the day of a moment, as it is written.
func dayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// factOf is what happened about a link on a day; v may be nil.
func factOf(i *instanceRow, v *version, on time.Time, c *counted) *fact {
	f := &fact{Under: underOf(i, v), Day: dayOf(on), Counts: c}
	if v == nil || !v.Anonymous {
		f.Unit = i.BusinessUnit
	}
	return f
}

// underOf are the values of the dimensions of a link, but for the unit; v may be nil.
func underOf(i *instanceRow, v *version) map[string]string {
	if v != nil && v.Anonymous {
		return map[string]string{}
	}
	out := map[string]string{ByTrigger: i.TriggerID, ByLocale: i.RecipientLocale}
	if v == nil || len(v.Dimensions) == 0 {
		return out
	}
	of := dimensionsOf(i)
	for _, path := range v.Dimensions {
		out[path] = of(path)
	}
	return out
}

// dimensionsOf gives the values of a link's event at paths.
func dimensionsOf(i *instanceRow) func(path string) string {
	values, err := form.Flatten(i.Metadata)
	if err != nil {
		values = nil // ingest has read it: it was emptied since
	}
	e := event{values: values}
	return func(path string) string {
		text, _ := e.text(path) // a list has none
		return dimensionValue(text)
	}
}

// queueOf is the queue of the worklist that the response to a link belongs to.
func queueOf(i *instanceRow, v *version) string {
	if v.Queue == "" {
		return ""
	}
	return dimensionsOf(i)(v.Queue)
}

// maxValue bounds a value of a dimension in bytes; of a longer one that much counts.
const maxValue = 100

// dimensionValue is a value as it may stand in a key.
func dimensionValue(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	if len(text) <= maxValue {
		return text
	}
	text = text[:maxValue]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text
}

// opened counts a link whose form is shown for the first time. It was asked, too, if no send says so.
func (i *instanceRow) opened() *counted {
	c := &counted{Opened: 1}
	if i.LastSentOn.IsZero() {
		c.Asked = 1
	}
	return c
}

// answered counts a link that is answered. It was opened, too, if nothing has said so before.
func (i *instanceRow) answered() *counted {
	c := &counted{}
	if !i.Seen {
		c = i.opened()
	}
	c.Answered = 1
	return c
}

// responded counts the response to a link.
func (i *instanceRow) responded(v *version, a *form.Answers) *counted {
	c := countAnswers(&v.Definition, a)
	if !i.LastSentOn.IsZero() {
		c.Waits, c.Waited = 1, int64(max(i.EndedOn.Sub(i.LastSentOn), 0)/time.Second)
	}
	return c
}

// dimensions are the pairs of dimension and value that a fact counts under: all of it,
// and each of its own.
func (f *fact) dimensions() map[string]string {
	out := maps.Clone(f.Under)
	if out == nil {
		out = map[string]string{}
	}
	out[whole] = ""
	return out
}

// whole is the dimension under which everything counts.
const whole = ""

// questionOf reads a questionKey.
func questionOf(key string, g *given) QuestionResult {
	parts := append(strings.Split(key, ":"), "", "")
	q := QuestionResult{ID: parts[0], Type: form.QuestionType(parts[1]), N: g.N, sum: g.Sum}
	q.Least, _ = strconv.Atoi(parts[2]) // of a rating
	q.Most, _ = strconv.Atoi(parts[3])
	if q.Type == form.RankingQuestion {
		q.Counts = placesOf(g)
		return q
	}
	for value, n := range g.Values {
		q.Counts = append(q.Counts, ValueCount{Value: value, N: n})
	}
	slices.SortFunc(q.Counts, func(a, b ValueCount) int {
		if q.Type.Rates() { // whole numbers
			x, _ := strconv.Atoi(a.Value)
			y, _ := strconv.Atoi(b.Value)
			return cmp.Compare(x, y)
		}
		return cmp.Compare(a.Value, b.Value)
	})
	return q
}

// placeKey is under what an option of a ranking counts at a place.
func placeKey(place int, option string) string { return strconv.Itoa(place) + ":" + option }

// placesOf are the options of a ranking, the one with the lowest mean place first.
func placesOf(g *given) (out []ValueCount) {
	sums, times := map[string]int{}, map[string]int{}
	for key, n := range g.Values {
		at, option, _ := strings.Cut(key, ":")
		place, _ := strconv.Atoi(at) // placeKey wrote it
		sums[option] += place * n
		times[option] += n
	}
	for option, sum := range sums {
		out = append(out, ValueCount{Value: option, N: g.Values[placeKey(1, option)], Place: float64(sum) / float64(times[option])})
	}
	slices.SortFunc(out, func(a, b ValueCount) int { return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.Value, b.Value)) })
	return out
}
