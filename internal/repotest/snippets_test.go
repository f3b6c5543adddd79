package repotest

import (
	"encoding/json"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/survey/form"
)

var (
	goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")
	// shown is the code that pages show: it is built, and most of it is run, by tests.
	shown = regexp.MustCompile(`^(docs/code|examples)/.*\.go$|^bench/\w+_test\.go$|(^|/)example\w*_test\.go$`)
)

// Every piece of Go in every page stands in a file that is built as an example: line by
// line, and all lines of a piece, up to a blank one, in one file. Where a page shows what
// others' libraries need before, its block is one of "golang".
func TestSnippetsStandInCodeThatIsBuilt(t *testing.T) {
	t.Parallel()
	files := map[string]map[string]bool{}
	var pages []string
	walk(t, func(name string) {
		switch {
		case filepath.Ext(name) == ".md":
			pages = append(pages, name)
		case shown.MatchString(name):
			lines := map[string]bool{}
			for line := range strings.Lines(read(t, name)) {
				lines[bare(line)] = true
			}
			files[name] = lines
		}
	})
	pieces := 0
	for _, page := range pages {
		for _, block := range goBlock.FindAllStringSubmatch(read(t, page), -1) {
			for _, piece := range strings.Split(block[1], "\n\n") {
				pieces++
				if near := nearest(files, piece); near.missing != nil {
					t.Errorf("%s: of\n%s\n%s has not %q", page, piece, near.file, near.missing)
				}
			}
		}
	}
	if pieces < 80 || len(files) < 50 {
		t.Errorf("%d pieces, %d files", pieces, len(files))
	}
}

type near struct {
	file    string
	missing []string // nil: the file has all
}

// nearest is the file that has the most lines of a piece.
func nearest(files map[string]map[string]bool, piece string) (best near) {
	for file, lines := range files {
		var missing []string
		for line := range strings.Lines(piece) {
			if text := bare(line); text != "" && !lines[text] {
				missing = append(missing, text)
			}
		}
		if best.file == "" || len(missing) < len(best.missing) {
			best = near{file, missing}
		}
	}
	return best
}

// walk calls f with the name of each file of the repository, hidden ones aside.
func walk(t *testing.T, f func(name string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		name, err := filepath.Rel(root, path)
		if err == nil && !d.IsDir() {
			f(filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// bare is a line of code without its indent, its comment, and what gofmt aligns.
func bare(line string) string {
	code, _, _ := strings.Cut(line, " // ")
	return strings.Join(strings.Fields(code), " ")
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
