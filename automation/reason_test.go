package automation

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every code in the group of holds is one that Health counts.
//
//spec:a-026
func TestHealthKnowsEveryReasonOfAHold(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "reason.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var codes []Reason
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || !strings.HasPrefix(group.Doc.Text(), "Reasons of support holds") {
			continue
		}
		for _, spec := range group.Specs {
			code, err := strconv.Unquote(spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, Reason(code))
		}
	}
	if diff := cmp.Diff(codes, holdReasons); diff != "" || len(codes) == 0 {
		t.Errorf("the codes (-) and what is counted (+): %s", diff)
	}
}
