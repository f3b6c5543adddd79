package specmap

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"
)

const directive = "//spec:"

// Anchor is one id above one declaration.
type Anchor struct {
	ID   string
	File string // from the root, with slashes
	Name string // the package and what is declared; of a test its own name
	Test bool
}

// Anchors reads all Go files below the root, in their order. A directive that
// stands above nothing is an error.
func Anchors(root fs.FS) ([]Anchor, error) {
	var all []Anchor
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil || !bytes.Contains(text, []byte(directive)) {
			return err
		}
		found, err := anchorsIn(name, text)
		all = append(all, found...)
		return err
	})
	return all, err
}

func anchorsIn(name string, text []byte) ([]Anchor, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	r := reader{file: name, pkg: file.Name.Name, seen: map[*ast.Comment]bool{}}
	r.take(file.Doc, "")
	for _, d := range file.Decls {
		r.declaration(d)
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, directive) && !r.seen[c] {
				return nil, fmt.Errorf("%s: %s stands above no declaration", files.Position(c.Pos()), c.Text)
			}
		}
	}
	return r.found, nil
}

// reader collects the anchors of one file.
type reader struct {
	file, pkg string
	seen      map[*ast.Comment]bool
	found     []Anchor
}

func (r *reader) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		r.take(d.Doc, owner(d)+d.Name.Name)
	case *ast.GenDecl:
		for i, s := range d.Specs {
			name, doc := specOf(s)
			if i == 0 {
				r.take(d.Doc, name)
			}
			r.take(doc, name)
		}
	}
}

// take notes the ids in a comment above what has that name; without a name it is
// the package.
func (r *reader) take(doc *ast.CommentGroup, name string) {
	if doc == nil {
		return
	}
	test := strings.HasSuffix(r.file, "_test.go")
	switch {
	case name == "":
		name = r.pkg
	case !test:
		name = r.pkg + "." + name
	}
	for _, c := range doc.List {
		ids, is := strings.CutPrefix(c.Text, directive)
		if !is {
			continue
		}
		r.seen[c] = true
		for _, id := range strings.Fields(ids) {
			r.found = append(r.found, Anchor{ID: id, File: r.file, Name: name, Test: test})
		}
	}
}

// specOf is the first name of a type, a constant or a variable, and its comment.
func specOf(s ast.Spec) (string, *ast.CommentGroup) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		return s.Name.Name, s.Doc
	case *ast.ValueSpec:
		return s.Names[0].Name, s.Doc
	}
	return "", nil // an import
}

// owner is the type of a method and a dot, or nothing.
func owner(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	for t := f.Recv.List[0].Type; ; {
		switch u := t.(type) {
		case *ast.StarExpr:
			t = u.X
		case *ast.IndexExpr:
			t = u.X
		case *ast.IndexListExpr:
			t = u.X
		case *ast.Ident:
			return u.Name + "."
		default:
			return ""
		}
	}
}
