package form

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/belfry-go/belfry/internal/filter"
	"github.com/belfry-go/belfry/keys"
)

// mostText is the most characters that an answer may have.
const mostText = 4000

// read gives the one spelling of an answer: nil where there is none, which null, an
// empty text and an empty list say too, as an HTML form does. A form has texts
// only, so a number may come as one, and a list of one option as that option.
func (q *Question) read(raw json.RawMessage) (any, *AnswerFault) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if q.Type.several() {
		return q.readList(raw)
	}
	var text string
	switch {
	case raw[0] == '"':
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, q.fault(FaultType, "is not a text")
		}
	case q.Type == NumberQuestion || q.Type.Rates():
		text = string(raw)
	default:
		return nil, q.fault(FaultType, "is not answered by a text")
	}
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	return q.readText(text)
}

// Accepts reports whether a text is an answer to the question by itself, whatever was answered
// before; an empty one is none.
func (q *Question) Accepts(text string) bool {
	raw, err := json.Marshal(text)
	if err != nil {
		return false
	}
	value, fault := q.read(raw)
	return fault == nil && value != nil
}

func (q *Question) readText(text string) (any, *AnswerFault) {
	switch q.Type {
	case TextQuestion, LongTextQuestion:
		return q.readWords(text)
	case NumberQuestion, RatingQuestion, NPSQuestion:
		return q.readNumber(text)
	case YesNoQuestion:
		if text != "yes" && text != "no" {
			return nil, q.fault(FaultOption, `is neither "yes" nor "no"`)
		}
	case ChoiceQuestion:
		if !q.offers(text) {
			return nil, q.fault(FaultOption, "is not one of the options")
		}
	case DateQuestion:
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return nil, q.fault(FaultType, "is not a date such as 2006-01-02")
		}
	default:
		return nil, q.fault(FaultType, "has a type that cannot be answered")
	}
	return text, nil
}

// readWords takes the line ends of a form, which are CR LF, and those that word processors
// leave in what is pasted for those of JSON, or in a line for spaces. Other control
// characters, and byte order marks, which are invisible, are dropped.
func (q *Question) readWords(text string) (any, *AnswerFault) {
	end := '\n'
	if q.Type == TextQuestion {
		end = ' '
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case lineEnds[r]:
			return end
		case unicode.IsControl(r) && r != '\t' || r == '\ufeff':
			return -1
		}
		return r
	}, strings.ReplaceAll(text, "\r\n", "\n"))
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if most := cmp.Or(q.MaxLength, mostText); utf8.RuneCountInString(text) > most {
		return nil, q.fault(FaultLength, fmt.Sprintf("has more than %d characters", most))
	}
	return text, nil
}

// lineEnds are LF, VT, FF, CR, NEL and the separators of lines and paragraphs.
var lineEnds = map[rune]bool{'\n': true, '\v': true, '\f': true, '\r': true, '\u0085': true, '\u2028': true, '\u2029': true}

func (q *Question) offers(value string) bool {
	return slices.ContainsFunc(q.Options, func(c Choice) bool { return c.Value == value })
}

// readList puts the options in the order of the question, unless that is for the customer.
func (q *Question) readList(raw json.RawMessage) (any, *AnswerFault) {
	var chosen []string
	if raw[0] == '"' {
		raw = slices.Concat([]byte("["), raw, []byte("]"))
	}
	if err := json.Unmarshal(raw, &chosen); err != nil {
		return nil, q.fault(FaultType, "is not answered by a list of texts")
	}
	chosen = slices.DeleteFunc(chosen, func(v string) bool { return v == "" })
	if len(chosen) == 0 {
		return nil, nil
	}
	for i, v := range chosen {
		if !q.offers(v) {
			return nil, q.fault(FaultOption, "holds what is not one of the options")
		}
		if slices.Contains(chosen[:i], v) {
			return nil, q.fault(FaultTwice, "holds an option twice")
		}
	}
	if q.Type == RankingQuestion {
		return q.ranked(chosen)
	}
	var list []any
	alone := false
	for _, c := range q.Options {
		if slices.Contains(chosen, c.Value) {
			list = append(list, c.Value)
			alone = alone || c.Exclusive
		}
	}
	if alone && len(list) > 1 {
		return nil, q.fault(FaultExclusive, "holds an exclusive option beside others")
	}
	return list, q.within(strconv.Itoa(len(list)), " options")
}

// ranked is the order of all options.
func (q *Question) ranked(chosen []string) (any, *AnswerFault) {
	if len(chosen) < len(q.Options) {
		return nil, q.fault(FaultMin, "does not hold all options")
	}
	list := make([]any, len(chosen))
	for i, v := range chosen {
		list[i] = v
	}
	return list, nil
}

func (q *Question) readNumber(text string) (any, *AnswerFault) {
	canonical, err := keys.Decimal(strings.TrimSpace(text))
	if err != nil {
		return nil, q.fault(FaultType, "is not a decimal number")
	}
	if q.Type.Rates() && strings.Contains(canonical, ".") {
		return nil, q.fault(FaultType, "is not a whole number")
	}
	if fault := q.within(canonical, ""); fault != nil {
		return nil, fault
	}
	return Number(canonical), nil
}

// within compares decimals, never floats. A bound that is not there does not bind.
func (q *Question) within(number, of string) *AnswerFault {
	least, most := q.limits()
	if n, ok := filter.CompareNumbers(number, least); ok && n < 0 {
		return q.fault(FaultMin, fmt.Sprintf("is less than %s%s", least, of))
	}
	if n, ok := filter.CompareNumbers(number, most); ok && n > 0 {
		return q.fault(FaultMax, fmt.Sprintf("is more than %s%s", most, of))
	}
	return nil
}
