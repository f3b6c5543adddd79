package repotest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notPublic are packages that hosts do not import.
var notPublic = regexp.MustCompile(`(^|/)(internal|docs|examples|bench|browsertest|testdata)(/|$)`)

// How many names each public package exports stands in a file, so that a change shows what
// it adds to what hosts have to know. `make api-since` says which names.
func TestTheNumberOfExportedNamesIsWrittenDown(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	dirs := map[string]bool{}
	walk(t, func(name string) {
		if dir := path.Dir(name); path.Ext(name) == ".go" && !notPublic.MatchString(dir) {
			dirs[dir] = true
		}
	})
	total := 0
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		if n := exported(t, dir); n > 0 {
			total += n
			fmt.Fprintf(&page, "%s %d\n", dir, n)
		}
	}
	fmt.Fprintf(&page, "all %d\n", total)
	comparePage(t, "testdata/names.txt", page.String())
}

// exported counts the exported constants, variables, types and functions of a package that
// is not a program.
func exported(t *testing.T, dir string) (n int) {
	t.Helper()
	p, err := build.ImportDir(root+"/"+dir, 0)
	if none := new(build.NoGoError); errors.As(err, &none) || err == nil && p.IsCommand() {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(p.GoFiles, p.CgoFiles...) {
		file, err := parser.ParseFile(token.NewFileSet(), root+"/"+dir+"/"+name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			n += exportedBy(d)
		}
	}
	return n
}

func exportedBy(d ast.Decl) (n int) {
	var names []*ast.Ident
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name)
			case *ast.ValueSpec:
				names = append(names, s.Names...)
			}
		}
	}
	for _, name := range names {
		if name.IsExported() {
			n++
		}
	}
	return n
}
