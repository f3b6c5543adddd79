package faults

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// root is the folder of the module.
const root = "../.."

// nested are the folders of modules of their own that have faults, too.
var nested = []string{"notify/channel/ses"}

// home is where a package of that folder is built, and its name there.
func home(dir string) (folder, name string) {
	if dir = path.Clean(dir); slices.Contains(nested, dir) {
		return filepath.Join(root, filepath.FromSlash(dir)), "."
	}
	return root, "./" + dir
}

// homes are folders of packages by where they are built.
func homes(dirs []string) map[string][]string {
	out := map[string][]string{}
	for _, dir := range dirs {
		folder, name := home(dir)
		out[folder] = append(out[folder], name)
	}
	return out
}

// module is the source of the module, as far as faults and their tests ask for it.
type module struct {
	dirs []string // that hold Go, below root, with slashes

	sync.Mutex
	packages map[string]map[string][]function // by folder and name in it
	tests    map[string][]string              // by folder
}

// function is a function or method in its file, or a variable of the package with
// its first value.
type function struct {
	name string // "decideAt", "Scheduler.Ensure", "machine"
	file *source
	decl *ast.FuncDecl // nil for a variable

	from, to int // what a fault may change: between the braces, or the value
}

// source is one file that was read.
type source struct {
	path string // below root
	text []byte
	fset *token.FileSet
	tree *ast.File
}

func (s *source) offset(p token.Pos) int { return s.fset.Position(p).Offset }

func (f function) body() string { return string(f.file.text[f.from:f.to]) }

// theModule is read once.
func theModule(t *testing.T) *module {
	t.Helper()
	m, err := readModule()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// readModule lists the folders of the module, and of those within it that have faults. It
// opens each of them, so that go test runs this package again whenever a file changed.
var readModule = sync.OnceValues(func() (*module, error) {
	m := &module{packages: map[string]map[string][]function{}, tests: map[string][]string{}}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		below, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		base := filepath.Base(below)
		other := exists(filepath.Join(name, "go.mod")) && !slices.Contains(nested, filepath.ToSlash(below))
		if below != "." && (strings.HasPrefix(base, ".") || base == "testdata" || other) {
			return filepath.SkipDir
		}
		if files, err := filepath.Glob(filepath.Join(name, "*.go")); err != nil || len(files) == 0 {
			return err
		}
		m.dirs = append(m.dirs, filepath.ToSlash(below))
		return nil
	})
	return m, err
})

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// problems are why f cannot be made, or not be caught.
func (m *module) problems(f fault) []string {
	var out []string
	if _, err := m.find(f); err != nil {
		out = append(out, err.Error())
	}
	if err := m.findTest(f); err != nil {
		out = append(out, err.Error())
	}
	return out
}

// place is where a fault is made: what lies between two offsets of the body.
type place struct {
	function
	at, end int
}

func (m *module) find(f fault) (place, error) {
	slash := strings.LastIndex(f.In, "/") + 1
	pkg, name, ok := strings.Cut(f.In[slash:], ".")
	if !ok {
		return place{}, fmt.Errorf("%q is not package.Function", f.In)
	}
	dir, err := m.dir(f.In[:slash] + pkg)
	if err != nil {
		return place{}, err
	}
	functions, err := m.functions(dir)
	if err != nil {
		return place{}, err
	}
	found := functions[name]
	if len(found) != 1 {
		return place{}, fmt.Errorf("no function %q: there are %d; it was renamed, so mend the fault", f.In, len(found))
	}
	at := search(found[0].body(), f.Old)
	switch len(at) {
	case 0:
		return place{}, fmt.Errorf("%s does not hold %q: the source has moved on, so mend the fault", f.In, f.Old)
	case 1:
		return place{function: found[0], at: at[0][0], end: at[0][1]}, nil
	default:
		return place{}, fmt.Errorf("%s holds %q %d times, want once: name more of the code", f.In, f.Old, len(at))
	}
}

// dir is the one folder whose path is, or ends with, end. "belfry" is the module's own.
func (m *module) dir(end string) (string, error) {
	if end == "belfry" {
		return ".", nil
	}
	if slices.Contains(m.dirs, end) {
		return end, nil
	}
	var found []string
	for _, dir := range m.dirs {
		if strings.HasSuffix(dir, "/"+end) {
			found = append(found, dir)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("no package %q", end)
	case 1:
		return found[0], nil
	default:
		return "", fmt.Errorf("%q are %d packages: %s", end, len(found), strings.Join(found, ", "))
	}
}

// functions are those of the package in dir, as it is built here.
func (m *module) functions(dir string) (map[string][]function, error) {
	m.Lock()
	defer m.Unlock()
	if known := m.packages[dir]; known != nil {
		return known, nil
	}
	all := map[string][]function{}
	err := m.eachFile(dir, func(name string) bool { return !strings.HasSuffix(name, "_test.go") }, func(s *source) {
		for _, decl := range s.tree.Decls {
			for _, f := range s.functions(decl) {
				all[f.name] = append(all[f.name], f)
			}
		}
	})
	m.packages[dir] = all
	return all, err
}

// functions are the function, or the variables, that a declaration makes.
func (s *source) functions(decl ast.Decl) (out []function) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Body == nil {
			return nil
		}
		f := function{name: d.Name.Name, file: s, decl: d, from: s.offset(d.Body.Lbrace) + 1, to: s.offset(d.Body.Rbrace)}
		if d.Recv != nil {
			f.name = receiver(d.Recv.List[0].Type) + "." + f.name
		}
		return []function{f}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			v, ok := spec.(*ast.ValueSpec)
			if !ok || d.Tok != token.VAR || len(v.Names) != len(v.Values) {
				continue
			}
			for i, name := range v.Names {
				out = append(out, function{name: name.Name, file: s, from: s.offset(v.Values[i].Pos()), to: s.offset(v.Values[i].End())})
			}
		}
	}
	return out
}

// receiver is the name of a receiver's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	default:
		return ""
	}
}

// eachFile parses the files of dir that are built here and whose names f takes.
func (m *module) eachFile(dir string, f func(name string) bool, do func(*source)) error {
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
	if err != nil {
		return err
	}
	for _, name := range files {
		if !f(name) {
			continue
		}
		if ok, err := build.Default.MatchFile(filepath.Split(name)); err != nil || !ok {
			if err != nil {
				return err
			}
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		s := &source{path: path.Join(dir, filepath.Base(name)), text: text, fset: token.NewFileSet()}
		if s.tree, err = parser.ParseFile(s.fset, name, text, parser.SkipObjectResolution); err != nil {
			return err
		}
		do(s)
	}
	return nil
}

// search is where text holds what is wanted: by tokens, else within its string
// literals.
func search(text, wanted string) [][2]int {
	all, err := tokens(text)
	if err != nil {
		return nil
	}
	if want, err := tokens(wanted); err == nil && len(want) > 0 {
		if found := searchTokens(all, want); len(found) > 0 {
			return found
		}
	}
	var found [][2]int
	for _, one := range all {
		if one.kind != token.STRING {
			continue
		}
		for at := 0; ; {
			i := strings.Index(one.text[at:], wanted)
			if i < 0 || wanted == "" {
				break
			}
			found = append(found, [2]int{one.from + at + i, one.from + at + i + len(wanted)})
			at += i + len(wanted)
		}
	}
	return found
}

func searchTokens(all, want []lexeme) (found [][2]int) {
	same := func(a, b lexeme) bool { return a.kind == b.kind && a.text == b.text }
	for i := range len(all) - len(want) + 1 {
		if slices.EqualFunc(all[i:i+len(want)], want, same) {
			found = append(found, [2]int{all[i].from, all[i+len(want)-1].to()})
		}
	}
	return found
}

// lexeme is a token at its place in a text.
type lexeme struct {
	kind token.Token
	text string
	from int
}

func (l lexeme) to() int { return l.from + len(l.text) }

// tokens are those of text, without comments. Semicolons are left out, whether
// somebody wrote them or a line break stands for them.
func tokens(text string) ([]lexeme, error) {
	var out []lexeme
	var failed error
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), func(_ token.Position, msg string) { failed = cmp.Or(failed, errors.New(msg)) }, 0)
	for {
		pos, kind, lit := s.Scan()
		if kind == token.EOF {
			return out, failed
		}
		if kind == token.SEMICOLON {
			continue
		}
		if !kind.IsLiteral() && !kind.IsKeyword() {
			lit = kind.String()
		}
		out = append(out, lexeme{kind: kind, text: lit, from: file.Offset(pos)})
	}
}

// findTest says where there is no test of the name that f gives.
func (m *module) findTest(f fault) error {
	dir, pattern := f.test()
	names, err := m.testsOf(path.Clean(dir))
	if err != nil {
		return err
	}
	if len(names) == 0 || !strings.HasPrefix(dir, ".") {
		return fmt.Errorf("no test package %q", dir)
	}
	for _, one := range patterns(pattern) {
		if !slices.ContainsFunc(names, one.begins) {
			return fmt.Errorf("no test of %s matches %q", dir, one.elements[0])
		}
	}
	return nil
}

// testsOf are the test functions of the package in dir.
func (m *module) testsOf(dir string) ([]string, error) {
	m.Lock()
	defer m.Unlock()
	if known := m.tests[dir]; known != nil {
		return known, nil
	}
	names := map[string]bool{}
	err := m.eachFile(dir, func(name string) bool { return strings.HasSuffix(name, "_test.go") }, func(s *source) {
		for _, decl := range s.tree.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && d.Recv == nil && isTest.MatchString(d.Name.Name) {
				names[d.Name.Name] = true
			}
		}
	})
	m.tests[dir] = slices.Sorted(maps.Keys(names))
	return m.tests[dir], err
}

var isTest = regexp.MustCompile(`^(Test|Fuzz|Example)`)

// pattern is one of the alternatives of what follows -run, cut at its slashes.
type pattern struct{ elements []*regexp.Regexp }

func patterns(run string) []pattern {
	var out []pattern
	for _, alternative := range split(run, '|') {
		var p pattern
		for _, element := range split(alternative, '/') {
			p.elements = append(p.elements, regexp.MustCompile(element))
		}
		out = append(out, p)
	}
	return out
}

func (p pattern) begins(name string) bool { return p.elements[0].MatchString(name) }

// matches says whether a test is one that p is about, and not only on the way to it.
func (p pattern) matches(name string) bool {
	parts := strings.Split(name, "/")
	if len(parts) < len(p.elements) {
		return false
	}
	for i, e := range p.elements {
		if !e.MatchString(parts[i]) {
			return false
		}
	}
	return true
}

// split cuts s where sep stands outside of brackets, as package testing does.
func split(s string, sep byte) []string {
	var out []string
	depth, from := 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case c == sep && depth == 0:
			out = append(out, s[from:i])
			from = i + 1
		}
	}
	return append(out, s[from:])
}
