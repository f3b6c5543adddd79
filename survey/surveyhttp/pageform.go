package surveyhttp

import (
	"encoding/json"
	"net/url"
	"slices"

	"github.com/belfry-go/belfry/survey"
)

// ask draws the questions of a form with what was posted, which may be nothing. A
// question that the answers bring up, and that was not on the page they come from,
// is new: without JavaScript a customer has not seen it yet.
func (p *Page) ask(d *survey.Definition, answers json.RawMessage, posted url.Values) {
	asked := d.Asked(answers)
	for i, q := range d.Questions {
		f := fieldOf(i+1, q, p.Lang, p.Texts, posted[fieldName(q.ID)])
		f.Hidden = !slices.Contains(asked, q.ID)
		f.New = posted != nil && q.When != nil && !f.Hidden && !slices.Contains(posted[shownName], q.ID)
		p.More = p.More || f.New
		p.Fields = append(p.Fields, f)
	}
}

// mark says at the fields what is wrong. It reports whether it could say all of it.
func (p *Page) mark(questions []survey.Question, faults []survey.AnswerFault) bool {
	for _, fault := range faults {
		i := slices.IndexFunc(questions, func(q survey.Question) bool { return q.ID == fault.QuestionID })
		if i < 0 || p.Fields[i].Hidden {
			return false
		}
		if p.Fields[i].Fault == "" {
			p.Fields[i].Fault = faultText(p.Texts, questions[i], fault.Code)
		}
	}
	return true
}
