package repotest

import (
	"bytes"
	"image/png"
	"os"
	"regexp"
	"strings"
	"testing"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(root + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The front page shows three problems, each in few lines.
func TestTheReadmeSolvesThreeProblemsInFewLines(t *testing.T) {
	t.Parallel()
	readme := read(t, "README.md")
	snippets := goBlock.FindAllStringSubmatch(readme, -1)
	if len(snippets) != 3 {
		t.Errorf("%d snippets", len(snippets))
	}
	for _, s := range snippets {
		if n := strings.Count(s[1], "\n"); n > 12 {
			t.Errorf("a snippet has %d lines:\n%s", n, s[1])
		}
	}
	if n := strings.Count(readme, "\n"); n > 120 {
		t.Errorf("README.md has %d lines", n)
	}
	_, hello, _ := strings.Cut(read(t, "examples/hello/main.go"), "func main() {\n")
	if n := strings.Count(hello, "\n"); n == 0 || n > 25 {
		t.Errorf("hello has %d lines", n)
	}
}

// The picture is there, can be read, and is small.
func TestTheReadmeHasASmallPicture(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`!\[.+\]\((docs/\w+\.png)\)`).FindStringSubmatch(read(t, "README.md"))
	if name == nil {
		t.Fatal("no picture")
	}
	text := read(t, name[1])
	if picture, err := png.DecodeConfig(bytes.NewReader([]byte(text))); err != nil || picture.Width < 800 || len(text) > 150_000 {
		t.Errorf("%s: %d bytes, %d wide, %v", name[1], len(text), picture.Width, err)
	}
}

// A newcomer reads these pages, and no word on them that is for operators.
func TestTheFirstHourIsShort(t *testing.T) {
	t.Parallel()
	words := 0
	for _, page := range []string{"README.md", "docs/getting-started.md", "docs/coming-from.md"} {
		words += len(strings.Fields(read(t, page)))
	}
	if words > 3000 {
		t.Errorf("%d words", words)
	}
	inner := regexp.MustCompile(`(?i)\b(lease|leases|token|tokens|lane|lanes|input hash)\b`)
	for _, page := range []string{"README.md", "docs/getting-started.md"} {
		if found := inner.FindAllString(read(t, page), -1); found != nil {
			t.Errorf("%s speaks of %q", page, found)
		}
	}
}
