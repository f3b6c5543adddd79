package surveyhttp

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/belfry-go/belfry/survey"
)

// fieldName is the name of a question's control. The prefix keeps it apart from
// what else is in the form.
func fieldName(question string) string { return "q." + question }

// shownName is the control that says which conditional questions were shown.
const shownName = "shown"

// answersOf are the answers of a form as a JSON object of texts and lists of texts,
// which [survey.Service.Submit] reads by the type of the question.
func answersOf(questions []survey.Question, posted url.Values, locale string) (json.RawMessage, error) {
	out := map[string]any{}
	for _, q := range questions {
		given := posted[fieldName(q.ID)]
		switch {
		case len(given) == 0:
		case q.Type == survey.MultipleQuestion:
			out[q.ID] = given
		case q.Type == survey.NumberQuestion || q.Type == survey.RatingQuestion:
			out[q.ID] = number(given[0], locale)
		default:
			out[q.ID] = given[0]
		}
	}
	return json.Marshal(out)
}

// number spells a number as customers write it in their language with ASCII digits
// and a point: "٣٫٥" and, where the comma is the decimal sign, "3,5".
func number(text, locale string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r >= '٠' && r <= '٩':
			return '0' + r - '٠'
		case r >= '۰' && r <= '۹':
			return '0' + r - '۰'
		case r == '٫':
			return '.'
		}
		return r
	}, strings.TrimSpace(text))
	if decimalComma(locale) && strings.Count(text, ",") == 1 && !strings.Contains(text, ".") {
		return strings.Replace(text, ",", ".", 1)
	}
	return text
}

// decimalComma says whether a language writes a comma where English has the point.
func decimalComma(locale string) bool {
	switch language(locale) {
	case "en", "he", "hi", "ja", "ko", "ms", "th", "ur", "zh", "":
		return false
	}
	return true
}
