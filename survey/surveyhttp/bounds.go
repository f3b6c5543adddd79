package surveyhttp

import (
	"strconv"
	"strings"

	"github.com/belfry-go/belfry/survey"
)

// bounds are the bounds of a question as a customer reads them.
func bounds(q survey.Question) (least, most string) {
	switch q.Type {
	case survey.RatingQuestion:
		least, most = "1", "5"
	case survey.TextQuestion, survey.LongTextQuestion:
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
func withBounds(text string, q survey.Question) string {
	least, most := bounds(q)
	return strings.NewReplacer("{min}", least, "{max}", most).Replace(text)
}

// faultText says in the customer's language what is wrong with an answer.
func faultText(t Texts, q survey.Question, code survey.FaultCode) string {
	multiple := q.Type == survey.MultipleQuestion
	text := t.Invalid
	switch {
	case code == survey.FaultRequired:
		text = t.Required
	case code == survey.FaultOption:
		text = t.NotOption
	case code == survey.FaultLength:
		text = t.TooLong
	case code == survey.FaultMin && multiple:
		text = t.TooFew
	case code == survey.FaultMin:
		text = t.TooSmall
	case code == survey.FaultMax && multiple:
		text = t.TooMany
	case code == survey.FaultMax:
		text = t.TooLarge
	case code == survey.FaultType && q.Type == survey.NumberQuestion:
		text = t.NotNumber
	case code == survey.FaultType && q.Type == survey.RatingQuestion:
		text = t.NotWhole
	case code == survey.FaultType && q.Type == survey.DateQuestion:
		text = t.NotDate
	}
	return withBounds(text, q)
}
