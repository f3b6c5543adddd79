package mutants

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"
)

// mutant is one deliberate fault: in File, Old becomes New; then Run, a pattern
// of tests in Package, must fail.
type mutant struct {
	Name, File, Old, New, Package, Run string
}

// builders bounds how many faults are compiled at once.
var builders = semaphore.NewWeighted(2)

func TestEveryMutantIsCaught(t *testing.T) {
	t.Parallel()
	if os.Getenv(inside) != "" {
		t.Skip("this is the test run of a mutant")
	}
	for _, m := range all {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			if err := builders.Acquire(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			defer builders.Release(1)
			m.check(t)
		})
	}
}

// inside marks the environment of a mutant's own test run.
const inside = "BELFRY_MUTANT"

func (m mutant) check(t *testing.T) {
	root := "../.."
	file := filepath.Join(root, m.File)
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), m.Old); n != 1 {
		t.Fatalf("%s holds the text to change %d times, want once: the source has moved on, so mend the mutant", m.File, n)
	}
	faulty := strings.Replace(string(source), m.Old, m.New, 1)
	out, err := goTest(t, root, overlay(t, file, faulty), m.Package, m.Run)
	switch {
	case err == nil:
		t.Errorf("%s in %s was not caught by %s:\n%s", m.Name, m.File, m.Run, out)
	case !strings.Contains(out, "--- FAIL") && !strings.Contains(out, "panic:"):
		t.Errorf("the tests did not run against the mutant:\n%s", out)
	}
}

// overlay writes a go build overlay in which file has another content.
func overlay(t *testing.T, file, content string) string {
	dir := t.TempDir()
	replacement := filepath.Join(dir, filepath.Base(file))
	if err := os.WriteFile(replacement, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	absolute, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {absolute: replacement}})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func goTest(t *testing.T, root, overlay, pkg, run string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-vet=off", "-count=1", "-timeout=2m", "-overlay="+overlay, "-run="+run, pkg)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), inside+"=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
