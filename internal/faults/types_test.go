package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every fault compiles: one that does not would keep all of them from being made.
// Nothing is built for this but what the packages with faults import.
func TestEveryFaultCompiles(t *testing.T) {
	t.Parallel()
	problems, err := typeProblems(theModule(t), all())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}

// What does not compile is said, and in which fault.
func TestWhatDoesNotCompileIsSaid(t *testing.T) {
	t.Parallel()
	wrong := fault{Name: "I-0 an example", In: "strictjson.Decode", Old: "tree, ok", New: "tree, 1 + nobody"}
	problems, err := typeProblems(theModule(t), []fault{wrong})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(problems); !strings.Contains(got, "fault_I-0_an_example:") || !strings.Contains(got, "nobody") {
		t.Errorf("problems are %s", got)
	}
}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles, CgoFiles       []string
}

// typeProblems are what the types of the packages with faults have against them.
func typeProblems(m *module, faults []fault) (problems []error, err error) {
	sources, err := laid(m, faults)
	if err != nil {
		return nil, err
	}
	var dirs []string
	for name := range sources {
		if dir := "./" + path.Dir(name); name != chosenFile && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	known, err := list(dirs)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	c := checker{fset: fset, sources: sources, problems: &problems}
	c.imports = importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(known[path].Export) })
	if c.chosen, err = c.check(listed{ImportPath: chosenPath, GoFiles: []string{path.Base(chosenFile)}}); err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		if _, err := c.check(known[path.Join(modulePath, dir)]); err != nil {
			return nil, err
		}
	}
	return problems, nil
}

// list asks for packages and all that they import, by their paths.
func list(dirs []string) (map[string]listed, error) {
	all := map[string]listed{}
	for folder, names := range homes(dirs) {
		if err := listIn(folder, names, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func listIn(folder string, names []string, all map[string]listed) error {
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,CgoFiles"}, names...)...)
	var errs bytes.Buffer
	cmd.Dir, cmd.Stderr = folder, &errs
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w\n%s", err, errs.String())
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var one listed
		if err := d.Decode(&one); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		all[one.ImportPath] = one
	}
}

// checker checks packages, of which each takes the others as they are built.
type checker struct {
	fset     *token.FileSet
	sources  map[string][]byte
	imports  types.Importer
	chosen   *types.Package
	problems *[]error
}

// Import is for the package types.
func (c checker) Import(path string) (*types.Package, error) {
	if path == chosenPath {
		return c.chosen, nil
	}
	return c.imports.Import(path)
}

func (c checker) check(p listed) (*types.Package, error) {
	var files []*ast.File
	for _, name := range p.GoFiles {
		var content any // nil is what is in the file
		if s, ok := c.sources[path.Join(strings.TrimPrefix(p.ImportPath, modulePath), name)]; ok {
			content = s
		}
		file, err := parser.ParseFile(c.fset, filepath.Join(p.Dir, name), content, parser.SkipObjectResolution)
		if err != nil {
			*c.problems = append(*c.problems, err)
			return nil, nil
		}
		files = append(files, file)
	}
	conf := types.Config{Importer: c, Error: func(err error) { *c.problems = append(*c.problems, err) }}
	checked, _ := conf.Check(p.ImportPath, c.fset, files, nil) // its errors have been told
	return checked, nil
}
