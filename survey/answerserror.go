package survey

import (
	"fmt"
	"strings"
)

// AnswersError lists all that is wrong with the answers of a submission. Nothing
// was written.
type AnswersError struct {
	Faults []AnswerFault
}

// AnswerFault is one fault. It does not hold the answer.
type AnswerFault struct {
	// QuestionID is empty if the answers as a whole are at fault. Of a question that
	// the survey does not have it is the first 100 bytes.
	QuestionID string    `json:"questionId,omitempty"`
	Code       FaultCode `json:"code"`
	Problem    string    `json:"problem"` // for a developer, in English
}

// FaultCode is the kind of a fault, for texts in the customer's language.
type FaultCode string

// The kinds of faults.
const (
	FaultMalformed FaultCode = "malformed" // not a JSON object, or too large
	FaultUnknown   FaultCode = "unknown"   // no such question
	FaultTwice     FaultCode = "twice"     // answered, or an option chosen, more than once
	FaultRequired  FaultCode = "required"  // no answer
	FaultType      FaultCode = "type"      // no text, number, date
	FaultOption    FaultCode = "option"    // not one of the options
	FaultMin       FaultCode = "min"       // too small, or too few options
	FaultMax       FaultCode = "max"       // too large, or too many options
	FaultLength    FaultCode = "length"    // too long a text
	FaultCharacter FaultCode = "character" // a character that is none of a text
)

// Error names questions of the survey, and never what the submitter wrote.
func (e *AnswersError) Error() string {
	texts := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		texts[i] = f.Problem
		if f.QuestionID != "" && f.Code != FaultUnknown {
			texts[i] = fmt.Sprintf("%q %s", f.QuestionID, f.Problem)
		}
	}
	return "survey: the answers cannot be taken: " + strings.Join(texts, "; ")
}
