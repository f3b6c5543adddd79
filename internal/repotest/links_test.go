package repotest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// link is a Markdown link or picture; its target is the second group.
var link = regexp.MustCompile(`!?\[([^\]]*)\]\(([^)\s]+)\)`)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(root + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every relative link of every page leads to a file, and to a heading of it.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	pages := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		pages++
		text, err := os.ReadFile(path)
		for _, l := range link.FindAllStringSubmatch(string(text), -1) {
			target, heading, _ := strings.Cut(l[2], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			file := filepath.Join(filepath.Dir(path), target)
			if target == "" {
				file = path
			}
			if _, err := os.Stat(file); err != nil || heading != "" && filepath.Ext(file) == ".md" && !hasHeading(t, file, heading) {
				t.Errorf("%s: the link to %s leads nowhere", path, l[2])
			}
		}
		return err
	})
	if err != nil || pages < 10 {
		t.Errorf("%d pages: %v", pages, err)
	}
}

// The index leads to every page, by task, by symptom, or as reference.
func TestEveryPageIsInTheIndex(t *testing.T) {
	t.Parallel()
	index := read(t, "docs/README.md")
	pages, err := filepath.Glob(root + "/docs/*.md")
	if err != nil || len(pages) < 20 {
		t.Fatal(pages, err)
	}
	for _, page := range pages {
		if name := filepath.Base(page); name != "README.md" && !strings.Contains(index, "]("+name) {
			t.Errorf("docs/README.md does not lead to %s", name)
		}
	}
}

var (
	headings = regexp.MustCompile("(?m)^#+ (.*)$")
	fenced   = regexp.MustCompile("(?s)```.*?```")
	noAnchor = regexp.MustCompile(`[^\w\- ]`)
)

// hasHeading reports whether a page has the heading that an anchor means.
func hasHeading(t *testing.T, file, anchor string) bool {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headings.FindAllStringSubmatch(fenced.ReplaceAllString(string(page), ""), -1) {
		if strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-") == anchor {
			return true
		}
	}
	return false
}
