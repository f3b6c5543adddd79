package repotest

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/survey/form"
)

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// Every line of Go in the pages about automation stands in an example, so that it
// compiles and runs.
func TestSnippetsAboutAutomationStandInExamples(t *testing.T) {
	t.Parallel()
	standIn(t, []string{"docs/automation.md", "docs/settings.md"}, "automation/example*_test.go", "automation/settings/example*_test.go")
}

// The same holds for the pages about notifications.
func TestSnippetsAboutNotifyStandInExamples(t *testing.T) {
	t.Parallel()
	standIn(t, []string{"docs/notify.md", "docs/channels.md"}, "notify/example*_test.go", "notify/notifyhttp/example*_test.go", "notify/templates/example*_test.go",
		"examples/custom-channel/*.go", "examples/inbox/*.go")
}

// The same holds for the page about reports.
func TestSnippetsAboutReportsStandInExamples(t *testing.T) {
	t.Parallel()
	standIn(t, []string{"docs/reports.md"}, "automation/report/example*_test.go", "automation/automationhttp/example*_test.go")
}

// And for the page about surveys.
func TestSnippetsAboutSurveysStandInExamples(t *testing.T) {
	t.Parallel()
	standIn(t, []string{"docs/survey.md"}, "survey/example*_test.go", "survey/surveyhttp/example*_test.go", "survey/surveytest/example*_test.go",
		"survey/subscriber/*/example_test.go")
}

// And for the page that compares: its one transaction runs among the peers.
func TestTheTransactionBesideRiverIsOneThatRuns(t *testing.T) {
	t.Parallel()
	standsIn(t, 1, []string{"docs/comparing.md"}, "bench/*_test.go")
}

// And for the page about drivers.
func TestSnippetsAboutDriversStandInAnExample(t *testing.T) {
	t.Parallel()
	standIn(t, []string{"docs/drivers.md"}, "examples/transactions/*.go")
}

// And for the page for who comes from something else.
func TestSnippetsForWhoComesFromElsewhereStandInExamples(t *testing.T) {
	t.Parallel()
	standIn(t, []string{"docs/coming-from.md"}, "examples/coming-from/*.go", "examples/transactions/*.go", "bench/*_test.go")
}

var jsonBlock = regexp.MustCompile("(?s)```json\n(.*?)```")

// The definition that the page shows to authors is one, without a warning.
func TestTheDefinitionInThePageIsValid(t *testing.T) {
	t.Parallel()
	blocks := jsonBlock.FindAllStringSubmatch(read(t, "docs/survey-authors.md"), -1)
	if len(blocks) != 1 {
		t.Fatalf("%d definitions", len(blocks))
	}
	warnings, err := form.Validate(json.RawMessage(blocks[0][1]))
	if err != nil || len(warnings) > 0 {
		t.Error(warnings, err)
	}
}

// standIn compares the lines of Go in pages, which have five blocks at least, with those
// of the files.
func standIn(t *testing.T, pages []string, patterns ...string) {
	t.Helper()
	standsIn(t, 5, pages, patterns...)
}

func standsIn(t *testing.T, least int, pages []string, patterns ...string) {
	t.Helper()
	known := map[string]bool{}
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, files, err)
		}
		for _, file := range files {
			name, err := filepath.Rel(root, file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(read(t, name)) {
				known[bare(line)] = true
			}
		}
	}
	var blocks [][]string
	for _, page := range pages {
		blocks = append(blocks, goBlock.FindAllStringSubmatch(read(t, page), -1)...)
	}
	if len(blocks) < least {
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

// bare is a line of code without its indent, its comment, and what gofmt aligns.
func bare(line string) string {
	code, _, _ := strings.Cut(line, " // ")
	return strings.Join(strings.Fields(code), " ")
}
