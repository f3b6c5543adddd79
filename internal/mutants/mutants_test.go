package mutants

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
)

// root is the folder of the module.
const root = "../.."

// mutant is one change of the code: in File, Old becomes New. Then Test must fail.
type mutant struct {
	Name     string // the promise that breaks, "I-3 …", or a subject and a colon
	File     string // below root
	Old, New string // File holds Old once
	Test     string // a package and a pattern for go test -run: "./keys TestX/memory"
}

// Every mutant is caught by its test, which passes without it. One alone:
//
//	go test ./internal/mutants -v -run 'TestEveryMutantIsCaught/I-3_another_payload'
func TestEveryMutantIsCaught(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Nightly)
	for _, m := range mutants {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			if out, err := m.run(t, ""); err != nil {
				t.Fatalf("%s fails without the mutant: %v\n%s", m.Test, err, out)
			} else if !passed.MatchString(out) {
				t.Fatalf("%s ran no test without the mutant:\n%s", m.Test, out)
			}
			overlay, err := m.overlay(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if out, err := m.run(t, overlay); err == nil {
				t.Errorf("%s did not notice: %s", m.Test, m.Name)
			} else if !failed.MatchString(out) {
				t.Errorf("%s did not run with the mutant: %v\n%s", m.Test, err, out)
			}
		})
	}
}

var (
	passed = regexp.MustCompile(`(?m)^ *--- PASS: `)
	failed = regexp.MustCompile(`(?m)^ *--- FAIL: |^panic:|^fatal error:`)
)

// overlay writes the changed file and the list that go build takes, and returns its name.
func (m mutant) overlay(dir string) (string, error) {
	original, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(m.File)))
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), m.Old); n != 1 {
		return "", fmt.Errorf("%s holds %q %d times, want once: change the mutant", m.File, m.Old, n)
	}
	changed, list := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), m.Old, m.New, 1)), 0o600); err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		return "", err
	}
	return list, os.WriteFile(list, replace, 0o600)
}

// run runs the test of a mutant: with an overlay, or without a mutant, which go test
// does once for all that have the same test.
func (m mutant) run(t *testing.T, overlay string) (string, error) {
	t.Helper()
	pkg, pattern, _ := strings.Cut(m.Test, " ")
	args := []string{"test", "-v", "-vet", "off", "-timeout", "10m", "-run", pattern}
	if overlay != "" {
		args = append(args, "-count", "1", "-overlay", overlay)
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, pkg)...)
	cmd.Dir = root
	for _, entry := range os.Environ() {
		// A run that names tests takes them at any level. A cluster of its own has no template
		// that another mutant has made.
		if name, _, _ := strings.Cut(entry, "="); name != testlevel.Variable && name != pgtest.ClusterVariable {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Names are told apart, and every promise has a mutant.
func TestEveryPromiseHasAMutant(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range mutants {
		if seen[m.Name] {
			t.Errorf("two mutants are called %q", m.Name)
		}
		seen[m.Name] = true
		promise, _, _ := strings.Cut(m.Name, " ")
		seen[promise] = true
	}
	const promises = 30 // docs/guarantees.md lists them
	for i := 1; i <= promises; i++ {
		if promise := fmt.Sprintf("I-%d", i); !seen[promise] {
			t.Errorf("no mutant breaks %s", promise)
		}
	}
}
