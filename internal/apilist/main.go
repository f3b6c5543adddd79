// Command apilist prints every exported name of the module's public packages
// with its type, one per line and in a fixed order, so that a change of the API
// shows as a changed line in docs/api.txt. Before them come the names that a host
// meets first. Packages under internal or examples,
// commands and nested modules are not public. Run it in the module's root.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "apilist:", err)
		os.Exit(1)
	}
}

func run() error {
	packages, err := load(".")
	if err != nil {
		return err
	}
	var listing []string
	for _, p := range packages {
		listing = append(listing, list(p)...)
	}
	page, err := introduced(listing, first)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	for _, line := range page {
		fmt.Fprintln(out, line)
	}
	return out.Flush()
}

// listed is what `go list -json` says of a package.
type listed struct {
	ImportPath string
	Name       string
	Export     string // file with the compiler's export data
}

// load returns the public packages of the module in dir, by import path.
func load(dir string) ([]*types.Package, error) {
	paths, err := publicPaths(dir)
	if err != nil {
		return nil, err
	}
	compiled, err := goList(dir, append([]string{"-export", "-deps"}, paths...)...)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, p := range compiled {
		exports[p.ImportPath] = p.Export
	}
	from := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	var packages []*types.Package
	for _, path := range paths {
		p, err := from.Import(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		packages = append(packages, p)
	}
	return packages, nil
}

// publicPaths are the import paths of the public packages, sorted.
func publicPaths(dir string) ([]string, error) {
	all, err := goList(dir, "./...")
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, p := range all {
		if p.Name != "main" && isPublic(p.ImportPath) {
			paths = append(paths, p.ImportPath)
		}
	}
	if len(paths) == 0 {
		return nil, errors.New("no public package here")
	}
	slices.Sort(paths)
	return paths, nil
}

func goList(dir string, args ...string) ([]listed, error) {
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Name,Export"}, args...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []listed
	for stream := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := stream.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, p)
	}
}

func isPublic(path string) bool {
	for _, element := range strings.Split(path, "/") {
		if element == "internal" || element == "examples" {
			return false
		}
	}
	return true
}

// list describes the exported names of p, sorted, one line each. A type is
// followed by its exported fields and methods.
func list(p *types.Package) []string {
	l := lister{pkg: p}
	scope := p.Scope()
	for _, name := range scope.Names() { // sorted
		if object := scope.Lookup(name); object.Exported() {
			l.object(object)
		}
	}
	return l.lines
}

// lister collects the lines of one package.
type lister struct {
	pkg   *types.Package
	lines []string
}

func (l *lister) add(format string, args ...any) {
	l.lines = append(l.lines, l.pkg.Path()+": "+fmt.Sprintf(format, args...))
}

// text writes a type with its package's name, or none for the package's own.
func (l *lister) text(t types.Type) string {
	return types.TypeString(t, l.qualify)
}

func (l *lister) qualify(p *types.Package) string {
	if p == l.pkg {
		return ""
	}
	return p.Name()
}

func (l *lister) object(object types.Object) {
	switch o := object.(type) {
	case *types.Const:
		l.add("const %s %s = %s", o.Name(), l.text(o.Type()), o.Val().ExactString())
	case *types.TypeName:
		l.typeName(o)
	default: // var and func
		l.add("%s", types.ObjectString(o, l.qualify))
	}
}

func (l *lister) typeName(o *types.TypeName) {
	named, isNamed := o.Type().(*types.Named)
	if o.IsAlias() || !isNamed {
		l.add("%s", types.ObjectString(o, l.qualify))
		return
	}
	head := "type " + l.text(named)
	switch u := named.Underlying().(type) {
	case *types.Struct:
		l.add("%s struct", head)
		l.fields(o.Name(), u)
	case *types.Interface:
		l.add("%s interface%s", head, sealed(u))
		l.interfaceParts(o.Name(), u)
		return
	default:
		l.add("%s %s", head, l.text(u))
	}
	l.methods(named)
}

func (l *lister) fields(owner string, s *types.Struct) {
	for f := range s.Fields() {
		if !f.Exported() {
			continue
		}
		kind := "field"
		if f.Embedded() {
			kind = "embedded"
		}
		l.add("type %s, %s %s %s", owner, kind, f.Name(), l.text(f.Type()))
	}
}

// sealed says that no type outside the package satisfies an interface.
func sealed(i *types.Interface) string {
	for m := range i.Methods() {
		if !m.Exported() {
			return ", sealed"
		}
	}
	return ""
}

func (l *lister) interfaceParts(owner string, i *types.Interface) {
	for t := range i.EmbeddedTypes() {
		l.add("type %s, embedded %s", owner, l.text(t))
	}
	for m := range i.ExplicitMethods() {
		if m.Exported() {
			l.add("type %s, method %s%s", owner, m.Name(), l.signature(m))
		}
	}
}

// methods lists the method set of *t, what embedding promotes included.
func (l *lister) methods(t *types.Named) {
	for selection := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		m := selection.Obj().(*types.Func)
		if !m.Exported() {
			continue
		}
		receiver := t.Obj().Name()
		if needsPointer(t, m) {
			receiver = "*" + receiver
		}
		l.add("method (%s) %s%s", receiver, m.Name(), l.signature(m))
	}
}

// needsPointer tells whether only *t, and not t, has the method.
func needsPointer(t *types.Named, m *types.Func) bool {
	return types.NewMethodSet(t).Lookup(m.Pkg(), m.Name()) == nil
}

func (l *lister) signature(m *types.Func) string {
	return strings.TrimPrefix(l.text(m.Type()), "func")
}
