package survey

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxSubmission bounds the answers as they come, in bytes.
	maxSubmission = 64 << 10
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

// excerpt is the beginning of what somebody wrote.
func excerpt(s string) string {
	const most = 100
	if len(s) > most {
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "")
}
