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

// Every relative link of every page leads to a file.
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
			target, _, _ := strings.Cut(l[2], "#")
			if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), target)); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", path, l[2])
			}
		}
		return err
	})
	if err != nil || pages < 10 {
		t.Errorf("%d pages: %v", pages, err)
	}
}
