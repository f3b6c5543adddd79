package repotest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// aTest is the name of a test as pages write it.
const aTest = "`((?:Test|Example|Benchmark|Fuzz)[A-Z_][A-Za-z0-9_]*)`"

var (
	testName = regexp.MustCompile(aTest)
	ruleLine = regexp.MustCompile(`^- ([a-z]-[0-9]{3}) .+: (?:` + aTest + `|\*host\*|\*none\*)`)
	promise  = regexp.MustCompile(`^- (I-[0-9]+): .+`)
	tested   = regexp.MustCompile(`^- (I-[0-9]+): ` + aTest)
)

// The documents have so many rules. They are numbered without gaps, so that no rule leaves
// the page unnoticed.
var rules = []struct {
	letter string
	count  int
}{{"a", 117}, {"r", 49}, {"n", 63}, {"f", 56}, {"t", 87}}

// Every rule of the specification names a test, or says that it is not built here.
func TestEveryRuleNamesATest(t *testing.T) {
	t.Parallel()
	var want []string
	for _, r := range rules {
		for n := range r.count {
			want = append(want, fmt.Sprintf("%s-%03d", r.letter, n+1))
		}
	}
	if diff := cmp.Diff(want, items(t, "docs/spec-map.md", ruleLine)); diff != "" {
		t.Errorf("rules with a test, *host* or *none* in docs/spec-map.md:\n%s", diff)
	}
}

func TestEveryPromiseNamesATest(t *testing.T) {
	t.Parallel()
	var want []string
	for n := range 30 {
		want = append(want, fmt.Sprintf("I-%d", n+1))
	}
	if diff := cmp.Diff(want, items(t, "docs/spec-map.md", tested)); diff != "" {
		t.Errorf("promises with a test in docs/spec-map.md:\n%s", diff)
	}
	if diff := cmp.Diff(want, items(t, "docs/guarantees.md", promise)); diff != "" {
		t.Errorf("promises in docs/guarantees.md:\n%s", diff)
	}
}

// items are the ids of the lines that have the form, in the order of the page.
func items(t *testing.T, page string, form *regexp.Regexp) (ids []string) {
	t.Helper()
	for line := range strings.Lines(read(t, page)) {
		if m := form.FindStringSubmatch(line); m != nil {
			ids = append(ids, m[1])
		}
	}
	return ids
}

// A test that a page names exists.
func TestEveryTestThatAPageNamesExists(t *testing.T) {
	t.Parallel()
	known, pages := map[string]bool{}, 0
	walk(t, func(name string) {
		if strings.HasSuffix(name, "_test.go") {
			for _, f := range functions(t, name) {
				known[f] = true
			}
		}
	})
	walk(t, func(name string) {
		if dir, file := filepath.Split(name); dir != "docs/" || filepath.Ext(file) != ".md" {
			return
		}
		pages++
		for _, m := range testName.FindAllStringSubmatch(read(t, name), -1) {
			if !known[m[1]] {
				t.Errorf("%s names %s, which does not exist", name, m[1])
			}
		}
	})
	if pages < 10 {
		t.Errorf("%d pages", pages)
	}
}

// functions are the names of the functions of a file, its methods aside.
func functions(t *testing.T, name string) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), root+"/"+name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
			names = append(names, f.Name.Name)
		}
	}
	return names
}
