package survey

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// answerSet are answers that were found right, in their one spelling: a text with
// LF for line ends, a number as [keys.Decimal] writes it, options in the order of
// the question. Two submissions that say the same have the same JSON.
type answerSet struct {
	values map[string]any // string, Number or []any of strings
	json   json.RawMessage
	hash   string   // lower-case hex of the SHA-256 of json
	order  []string // the questions that have an answer, as they are asked
}

// accept checks a submission, and drops the answers to questions that the answers
// before them hide. The error is an [*AnswersError] with every fault.
func (d *Definition) accept(raw json.RawMessage) (*answerSet, error) {
	given, fault := readAnswers(raw)
	if fault != nil {
		return nil, &AnswersError{Faults: []AnswerFault{*fault}}
	}
	out := &answerSet{values: map[string]any{}}
	faults := d.unfit(given)
	for i := range d.Questions {
		q := &d.Questions[i]
		if !q.When.Match(out.values) {
			continue
		}
		value, fault := q.read(given.byQuestion[q.ID])
		switch {
		case fault != nil:
			faults = append(faults, *fault)
		case value != nil:
			out.values[q.ID] = value
			out.order = append(out.order, q.ID)
		case q.Required:
			faults = append(faults, *q.fault(FaultRequired, "needs an answer"))
		}
	}
	if len(faults) == 0 {
		faults = out.seal()
	}
	if len(faults) > 0 {
		return nil, &AnswersError{Faults: faults[:min(len(faults), maxFaults)]}
	}
	return out, nil
}

// unfit are the faults of questions that are unknown or answered twice.
func (d *Definition) unfit(given submitted) (faults []AnswerFault) {
	known := map[string]bool{}
	for i := range d.Questions {
		known[d.Questions[i].ID] = true
	}
	for _, id := range slices.Sorted(maps.Keys(given.byQuestion)) {
		if !known[id] && len(faults) < maxFaults {
			faults = append(faults, AnswerFault{QuestionID: excerpt(id), Code: FaultUnknown, Problem: "an answer to a question that the survey does not have"})
		}
	}
	for _, id := range given.twice {
		if known[id] {
			faults = append(faults, AnswerFault{QuestionID: id, Code: FaultTwice, Problem: "is answered twice"})
		}
	}
	return faults
}

// seal writes the canonical JSON, whose object keys are sorted.
func (a *answerSet) seal() []AnswerFault {
	text, err := json.Marshal(a.values)
	if err != nil { // strings and decimal numbers only
		return []AnswerFault{{Code: FaultMalformed, Problem: "the answers cannot be written as JSON"}}
	}
	if len(text) > maxAnswers {
		return []AnswerFault{{Code: FaultMalformed, Problem: fmt.Sprintf("the answers have more than %d bytes of JSON", maxAnswers)}}
	}
	sum := sha256.Sum256(text)
	a.json, a.hash = text, hex.EncodeToString(sum[:])
	return nil
}

func (q *Question) fault(code FaultCode, problem string) *AnswerFault {
	return &AnswerFault{QuestionID: q.ID, Code: code, Problem: problem}
}
