package repotest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestThePageOfReasonCodesIsPrintedFromTheirComments(t *testing.T) {
	t.Parallel()
	comparePage(t, "../../support/reason-codes.md", reasonPage(t)) // where the console embeds it
}

func reasonPage(t *testing.T) string {
	var b strings.Builder
	b.WriteString("# Reason codes\n\n" +
		"Why a row is in its state or on support hold, and what to do about it. Printed\n" +
		"from the comments in the code (`go test ./internal/repotest -update`). Codes are\n" +
		"stored and never change their meaning; hosts, channels and revalidators add\n" +
		"their own, which are not listed.\n")
	for _, group := range reasonsIn(t, root+"/reasons/reasons.go") {
		fmt.Fprintf(&b, "\n%s\n\n", group.about)
		for _, r := range group.reasons {
			fmt.Fprintf(&b, "- `%s`: %s\n", r.code, r.means)
		}
	}
	return b.String()
}

// reasons is one group of constants, reason one of them.
type reasons struct {
	about   string
	reasons []reason
}

type reason struct{ code, means string }

// reasonsIn reads the groups of constants of a file. Each has to say what it
// means, after its own name and a colon.
func reasonsIn(t *testing.T, file string) (groups []reasons) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		out := reasons{about: plain(group.Doc.Text())}
		for _, spec := range group.Specs {
			c := spec.(*ast.ValueSpec)
			code, err := strconv.Unquote(c.Values[0].(*ast.BasicLit).Value)
			means, ok := strings.CutPrefix(plain(c.Doc.Text()), c.Names[0].Name+": ")
			if err != nil || code != c.Names[0].Name || !ok || !strings.HasSuffix(means, ".") {
				t.Errorf("%s: %s is not its own name, or does not say what it means in a comment that begins with its name and a colon", file, c.Names[0].Name)
				continue
			}
			out.reasons = append(out.reasons, reason{code, strings.ToUpper(means[:1]) + means[1:]})
		}
		groups = append(groups, out)
	}
	return groups
}

var docLink = regexp.MustCompile(`\[\*?([A-Za-z.]+)\]`)

// plain is a comment as one line of Markdown.
func plain(doc string) string {
	return docLink.ReplaceAllString(strings.Join(strings.Fields(doc), " "), "`$1`")
}
