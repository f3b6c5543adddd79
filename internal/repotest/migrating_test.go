package repotest

import (
	"strings"
	"testing"
)

// Every line of Go in the run book stands in an example, so that it compiles and
// runs. Its SQL is run by a test of package automation.
func TestSnippetsOfTheRunBookStandInExamples(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for line := range strings.Lines(read(t, "automation/example_rollout_test.go")) {
		known[bare(line)] = true
	}
	blocks := goBlock.FindAllStringSubmatch(read(t, "docs/migrating.md"), -1)
	if len(blocks) < 5 {
		t.Errorf("%d snippets", len(blocks))
	}
	for _, block := range blocks {
		for line := range strings.Lines(block[1]) {
			if !known[bare(line)] {
				t.Errorf("in no example: %s", line)
			}
		}
	}
}
