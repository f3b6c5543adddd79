// Package specmap says where each rule of the specification documents is built
// and tested. A file lists the rules; directives in the code and in the tests are
// the anchors:
//
//	//spec:a-017 a-018
//
// stands in the comment above a declaration, a package clause or a test.
package specmap

import (
	"fmt"
	"regexp"
	"strings"
)

// Rule is one line of the list.
type Rule struct {
	Document, Section string
	ID                string // such as "a-017"
	Says              string
	// Status is empty for what is built. "host", "none" and "open", each perhaps
	// with a reason after a colon, need no anchor.
	Status string
}

var ruleLine = regexp.MustCompile(`^([a-z]-\d{3}) (.*?)(?: \[((?:host|none|open)(?:: [^\]]+)?)\])?$`)

// Rules reads a list: "# document", "## section", "a-017 what it says [status]".
// Empty lines and lines that begin with "//" are passed over.
func Rules(list string) ([]Rule, error) {
	var rules []Rule
	var document, section string
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "//"):
		case strings.HasPrefix(line, "## "):
			section = line[3:]
		case strings.HasPrefix(line, "# "):
			document, section = line[2:], ""
		default:
			m := ruleLine.FindStringSubmatch(line)
			if m == nil {
				return nil, fmt.Errorf("not a rule: %q", line)
			}
			rules = append(rules, Rule{Document: document, Section: section, ID: m[1], Says: m[2], Status: m[3]})
		}
	}
	return rules, nil
}

// Check lists what is wrong: a rule twice, an anchor without a rule, or with one
// that is not to be built, and a built rule without code or without a test.
func Check(rules []Rule, anchors []Anchor) (faults []string) {
	byID := map[string]Rule{}
	for _, r := range rules {
		if _, twice := byID[r.ID]; twice {
			faults = append(faults, r.ID+" is listed twice")
		}
		byID[r.ID] = r
	}
	code, tests := map[string]bool{}, map[string]bool{}
	for _, a := range anchors {
		r, known := byID[a.ID]
		switch {
		case !known:
			faults = append(faults, fmt.Sprintf("%s: no rule is called %s", a.File, a.ID))
		case strings.HasPrefix(r.Status, "host"), strings.HasPrefix(r.Status, "none"):
			faults = append(faults, fmt.Sprintf("%s: %s is not built here: %s", a.File, a.ID, r.Status))
		case a.Test:
			tests[a.ID] = true
		default:
			code[a.ID] = true
		}
	}
	for _, r := range rules {
		if r.Status == "" && !code[r.ID] {
			faults = append(faults, fmt.Sprintf("nothing is anchored as what builds %s: %s", r.ID, r.Says))
		}
		if r.Status == "" && !tests[r.ID] {
			faults = append(faults, fmt.Sprintf("no test is anchored as what holds %s: %s", r.ID, r.Says))
		}
	}
	return faults
}
