package form

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Answers are answers that were found right, in their one spelling: a text with
// LF for line ends, a number as [keys.Decimal] writes it, options in the order of
// the question. Two submissions that say the same have the same JSON.
type Answers struct {
	Values map[string]any // string, Number or []any of strings
	JSON   json.RawMessage
	Hash   string   // lower-case hex of the SHA-256 of json
	Order  []string // the questions that have an answer, as they are asked
}

// Accept checks a submission, and drops the answers to questions that the answers
// before them hide. The error is an [*AnswersError] with every fault.
func (d *Definition) Accept(raw json.RawMessage) (*Answers, error) {
	given, fault := readAnswers(raw)
	if fault != nil {
		return nil, &AnswersError{Faults: []AnswerFault{*fault}}
	}
	out := &Answers{Values: map[string]any{}}
	faults := d.unfit(given)
	for i := range d.Questions {
		q := &d.Questions[i]
		if !q.Type.Asks() || !q.When.Match(out.Values) {
			continue
		}
		value, fault := q.read(given.byQuestion[q.ID])
		switch {
		case fault != nil:
			faults = append(faults, *fault)
		case value != nil:
			out.Values[q.ID] = value
			out.Order = append(out.Order, q.ID)
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
		known[d.Questions[i].ID] = d.Questions[i].Type.Asks()
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
func (a *Answers) seal() []AnswerFault {
	text, err := json.Marshal(a.Values)
	if err != nil { // strings and decimal numbers only
		return []AnswerFault{{Code: FaultMalformed, Problem: "the answers cannot be written as JSON"}}
	}
	if len(text) > MaxAnswers {
		return []AnswerFault{{Code: FaultMalformed, Problem: fmt.Sprintf("the answers have more than %d bytes of JSON", MaxAnswers)}}
	}
	sum := sha256.Sum256(text)
	a.JSON, a.Hash = text, hex.EncodeToString(sum[:])
	return nil
}

func (q *Question) fault(code FaultCode, problem string) *AnswerFault {
	return &AnswerFault{QuestionID: q.ID, Code: code, Problem: problem}
}

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
	FaultExclusive FaultCode = "exclusive" // an option that stands alone, beside others
	FaultLength    FaultCode = "length"    // too long a text
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

const (
	// maxSubmission bounds the answers as they come, in bytes: JSON may spell a letter of
	// two bytes with six.
	maxSubmission = 3 * MaxAnswers
	// maxFaults bounds how many faults of one submission are listed.
	maxFaults = 100
)

// submitted are the answers of one submission by question, not looked into yet.
type submitted struct {
	byQuestion map[string]json.RawMessage
	twice      []string
}

// readAnswers reads a JSON object; nothing at all is an empty one.
func readAnswers(raw json.RawMessage) (submitted, *AnswerFault) {
	out := submitted{byQuestion: map[string]json.RawMessage{}}
	if len(bytes.TrimSpace(raw)) == 0 {
		return out, nil
	}
	if len(raw) > maxSubmission {
		return out, &AnswerFault{Code: FaultMalformed, Problem: fmt.Sprintf("the answers have more than %d bytes", maxSubmission)}
	}
	if !utf8.Valid(raw) || !json.Valid(raw) || bytes.TrimSpace(raw)[0] != '{' {
		return out, &AnswerFault{Code: FaultMalformed, Problem: "the answers are not a JSON object in UTF-8"}
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	_, _ = d.Token() // valid: {
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return out, &AnswerFault{Code: FaultMalformed, Problem: "the answers are not a JSON object in UTF-8"}
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return out, &AnswerFault{Code: FaultMalformed, Problem: "the answers are not a JSON object in UTF-8"}
		}
		id := key.(string) // of a valid object
		if _, again := out.byQuestion[id]; again && !slices.Contains(out.twice, id) {
			out.twice = append(out.twice, id)
		}
		out.byQuestion[id] = value
	}
	return out, nil
}

// excerpt is the beginning of what a person wrote.
func excerpt(s string) string {
	const most = 100
	if len(s) > most {
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "")
}

// Asked lists, in the order of the form, the questions that are asked of a person who
// has given these answers so far, a JSON object by question id: all whose condition
// the answers to the questions before them satisfy. Answers that are wrong count as
// not given. It is how a page knows what to show next.
func (d *Definition) Asked(answers json.RawMessage) []string {
	given, _ := readAnswers(answers)
	values := map[string]any{}
	var out []string
	for i := range d.Questions {
		q := &d.Questions[i]
		if !q.When.Match(values) {
			continue
		}
		out = append(out, q.ID)
		if value, fault := q.read(given.byQuestion[q.ID]); fault == nil && value != nil {
			values[q.ID] = value
		}
	}
	return out
}

// MaxAnswers bounds the answers of one response in bytes, as canonical JSON. A
// definition whose answers could be longer is not published.
const MaxAnswers = 1 << 20

// MostAnswers is how many bytes the answers may have at most, as canonical JSON: what
// [Definition.Accept] takes fits.
func (d *Definition) MostAnswers() int {
	const letter = 6 // of JSON at most: "\u2028" has that many
	most := len("{}")
	for i := range d.Questions {
		q := &d.Questions[i]
		if !q.Type.Asks() {
			continue
		}
		most += letter*len(q.ID) + len(`"":,`)
		switch q.Type {
		case TextQuestion, LongTextQuestion:
			most += letter*cmp.Or(q.MaxLength, mostText) + len(`""`)
		case ChoiceQuestion, MultipleQuestion, RankingQuestion:
			most += len(`[]`)
			for _, c := range q.Options {
				most += letter*len(c.Value) + len(`"",`)
			}
		default:
			most += mostNumber
		}
	}
	return most
}

// mostNumber is more than a number, a date, "yes" and "no" have.
const mostNumber = 100
