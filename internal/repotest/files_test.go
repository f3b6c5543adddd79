package repotest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A goFile is one Go file of the repository, of any module and for any platform.
type goFile struct {
	name  string // below the root, with slashes
	dir   string
	test  bool // its name ends in _test.go
	lines *token.FileSet
	tree  *ast.File
}

func (f goFile) at(n ast.Node) string { return f.lines.Position(n.Pos()).String() }

// goFiles parses each file once, for all tests. It asks no go command: that would leave out
// other modules, and files for other platforms.
func goFiles(t *testing.T) []goFile {
	t.Helper()
	files, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var parsed = sync.OnceValues(func() (files []goFile, err error) {
	lines := token.NewFileSet()
	err = filepath.WalkDir(root, func(full string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, full)
		name = filepath.ToSlash(name)
		switch {
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != "." || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		tree, err := parser.ParseFile(lines, full, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, goFile{name, path.Dir(name), strings.HasSuffix(name, "_test.go"), lines, tree})
		return nil
	})
	return files, err
})
