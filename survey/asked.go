package survey

import "encoding/json"

// Asked lists, in the order of the form, the questions that are asked of whoever
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
