package survey_test

import (
	"encoding/json"
	"fmt"
	"strings"
)

// definitionCase is a definition and what is wrong with it.
type definitionCase struct {
	definition string
	faults     []string // none: it is valid
	// blind says that a JSON Schema cannot see the fault.
	blind bool
}

const (
	rateJSON = `{"id": "rate", "type": "rating"}`
	askJSON  = `{"id": "ask", "type": "yesNo"}`
)

// questionsJSON is a definition with those questions.
func questionsJSON(list ...string) string { return `{"questions": [` + strings.Join(list, ", ") + `]}` }

// questionJSON is a definition with one question q and more members.
func questionJSON(kind, more string) string {
	if more != "" {
		more = ", " + more
	}
	return questionsJSON(fmt.Sprintf(`{"id": "q", "type": %q%s}`, kind, more))
}

// oneTrigger is a trigger whose members are replaced by those given; null leaves one out.
func oneTrigger(replace string) string {
	members := map[string]json.RawMessage{}
	for _, text := range []string{`{"id": "t", "enabled": true, "eventKind": "visit", "dedupRecipe": ["templateId", "recipient.address", "candidate.wip"],
		"schedule": {"initialDelay": "0d"}, "channel": "memory:default"}`, "{" + replace + "}"} {
		if err := json.Unmarshal([]byte(text), &members); err != nil {
			panic(err)
		}
	}
	for name, value := range members {
		if string(value) == "null" {
			delete(members, name)
		}
	}
	out, err := json.Marshal(members)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// triggersJSON is a definition with the question rate and those triggers.
func triggersJSON(list ...string) string {
	return `{"questions": [` + rateJSON + `], "triggers": [` + strings.Join(list, ", ") + `]}`
}

func triggerJSON(replace string) string { return triggersJSON(oneTrigger(replace)) }

func messageJSON(members string) string { return `{"messages": [{` + members + `}]}` }

func times(n int, f func(i int) string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

const (
	visible = "1 to 100 of A-Z a-z 0-9 _ . -, the first a letter or digit"
	nowhere = "is none of templateId, recipient.address, recipient.locale, recipient.customerRef and candidate.…"
	noKey   = `is no key of a channel, such as "email:smtp": the delivery method, a colon, the transport`
)
