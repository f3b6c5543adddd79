package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const source = `package bell

import "io"

const Loud Volume = "loud"
const hidden = 1

var ErrCracked error

type Volume string

type Alias = Tower[int]

type Tower[T any] struct {
	Height T
	Clapper
	secret int
}

func (t Tower[T]) Tall() bool { return hidden > 0 }
func (t *Tower[T]) Raise(by T) { t.Height = by }
func (t *Tower[T]) lower() {}

type Clapper struct{ io.Writer }

func (Clapper) Strike() {}

type Ringer interface {
	io.Closer
	Ring(times int) error
	sealed()
}

func Cast[T any](from ...T) (*Tower[T], error) { return nil, ErrCracked }
`

var want = []string{
	"example/bell: type Alias = Tower[int]",
	"example/bell: func Cast[T any](from ...T) (*Tower[T], error)",
	"example/bell: type Clapper struct",
	"example/bell: type Clapper, embedded Writer io.Writer",
	"example/bell: method (Clapper) Strike()",
	"example/bell: method (Clapper) Write(p []byte) (n int, err error)",
	"example/bell: var ErrCracked error",
	"example/bell: const Loud Volume = \"loud\"",
	"example/bell: type Ringer interface, sealed",
	"example/bell: type Ringer, embedded io.Closer",
	"example/bell: type Ringer, method Ring(times int) error",
	"example/bell: type Tower[T any] struct",
	"example/bell: type Tower, field Height T",
	"example/bell: type Tower, embedded Clapper Clapper",
	"example/bell: method (*Tower) Raise(by T)",
	"example/bell: method (Tower) Strike()",
	"example/bell: method (Tower) Tall() bool",
	"example/bell: method (Tower) Write(p []byte) (n int, err error)",
	"example/bell: type Volume string",
}

func TestTheListingHasEveryExportedNameOfPublicPackages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                    "module example\n\ngo 1.26\n",
		"bell/bell.go":              source,
		"bell/bell_test.go":         "package bell\n\nfunc OnlyInTests() {}\n",
		"internal/in.go":            "package internal\n\nfunc Private() {}\n",
		"examples/hello/main.go":    "package main\n\nfunc main() { does not compile }\n",
		"examples/helpers/help.go":  "package helpers\n\nfunc Help() {}\n",
		"cmd/main.go":               "package main\n\nfunc Exported() {}\nfunc main() {}\n",
		"bench/go.mod":              "module example/bench\n\ngo 1.26\n",
		"bench/bench.go":            "package bench\n\nfunc Nested() {}\n",
		"bell/internal/deep/den.go": "package deep\n\nfunc Deep() {}\n",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	packages, err := load(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range packages {
		got = append(got, list(p)...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("listing (-want +got):\n%s", diff)
	}
}

func TestTheNamesThatAHostMeetsFirstComeFirst(t *testing.T) {
	t.Parallel()
	listing := []string{module + "/bell: func Open()", module + "/bell: func Ring()", module + "/bell: func RingTwice()"}
	got, err := introduced(listing, []string{"/bell: func Ring("})
	want := append([]string{"What a host meets first:", "", listing[1], "", "All exported names:", ""}, listing...)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, wrong := range []string{"/bell: func Strike(", "/bell: func Ring"} {
		if _, err := introduced(listing, []string{wrong}); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

func TestAPackageThatDoesNotCompileIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module example\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "bell.go"), "package bell\n\nfunc Ring() { none }\n")
	if _, err := load(dir); err == nil || !strings.Contains(err.Error(), "go list") {
		t.Fatalf("load = %v", err)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
