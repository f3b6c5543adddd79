package main

import (
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
