package mutants

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/belfry-go/belfry/internal/pgtest"
)

// mutant is one deliberate fault: in File, Old becomes New; then Run, a pattern
// of tests in Package, must fail. Its Name begins with the invariant it breaks, or
// with a word for what it is about and a colon.
type mutant struct {
	Name, File, Old, New, Package, Run string

	Postgres bool // Run needs databases on a PostgreSQL
	Hangs    bool // the fault shows in that Run does not end
}

func TestMain(m *testing.M) { pgtest.Main(m) }

// builders bounds how many faults are compiled at once.
var builders = semaphore.NewWeighted(2)

// share are the faults of this run: every eighth, another eighth after each commit,
// since each is a build of its own. BELFRY_FULL=1 takes all of them, and so does a
// run that names one.
func share(t *testing.T) []mutant {
	if os.Getenv("BELFRY_FULL") == "1" || strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return all
	}
	out, err := exec.CommandContext(t.Context(), "git", "rev-list", "--count", "HEAD").Output()
	if err != nil {
		return all // no history to go by
	}
	commits, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	const parts = 8
	var part []mutant
	for i := commits % parts; i < len(all); i += parts {
		part = append(part, all[i])
	}
	t.Logf("%d of %d faults, after %d commits", len(part), len(all), commits)
	return part
}

func TestEveryMutantIsCaught(t *testing.T) {
	t.Parallel()
	if os.Getenv(inside) != "" {
		t.Skip("this is the test run of a mutant")
	}
	for _, m := range share(t) {
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

// Every fault still finds the text that it changes, also those that are not run
// this time.
func TestEveryMutantFindsItsText(t *testing.T) {
	t.Parallel()
	for _, m := range all {
		m.source(t)
	}
}

const root = "../.."

func (m mutant) source(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(root, m.File))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), m.Old); n != 1 {
		t.Errorf("%q: %s holds the text to change %d times, want once: the source has moved on, so mend the mutant", m.Name, m.File, n)
	}
	return string(source)
}

func (m mutant) check(t *testing.T) {
	file := filepath.Join(root, m.File)
	source := m.source(t)
	if t.Failed() {
		return
	}
	faulty := strings.Replace(string(source), m.Old, m.New, 1)
	out, err := m.test(t, root, overlay(t, file, faulty))
	switch {
	case err == nil:
		t.Errorf("%s in %s was not caught by %s:\n%s", m.Name, m.File, m.Run, out)
	case m.Hangs && strings.Contains(out, "fatal error: stack overflow"): // before its time was over
	case !strings.Contains(out, "--- FAIL") && !strings.Contains(out, "panic:"):
		t.Errorf("the tests did not run against the mutant:\n%s", out)
	case !m.Hangs && strings.Contains(out, "panic: test timed out"):
		t.Errorf("the tests did not end, which is not what should show the fault:\n%s", out)
	default:
		t.Logf("caught, with -v to see that it is for the right reason:\n%.2000s", out)
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

// test runs the tests of a mutant. Those that need a PostgreSQL share one.
func (m mutant) test(t *testing.T, root, overlay string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	patience := "1m"
	if m.Hangs {
		patience = "5s"
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-vet=off", "-count=1", "-failfast",
		"-gcflags=-N -l", "-ldflags=-s -w", // quicker to build
		"-timeout="+patience, "-overlay="+overlay, "-run="+m.Run, m.Package)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), inside+"=1")
	if m.Postgres {
		cmd.Env = append(cmd.Env, "BELFRY_POSTGRES_DSN="+pgtest.DSN(t))
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

var (
	invariant = regexp.MustCompile(`^I-[0-9]+ `)
	topic     = regexp.MustCompile(`^[a-z]+: `)
)

func TestEveryInvariantHasAMutant(t *testing.T) {
	t.Parallel()
	broken := map[string]bool{}
	for _, m := range all {
		id := invariant.FindString(m.Name)
		if id == "" && !topic.MatchString(m.Name) {
			t.Errorf("%q begins with neither an invariant nor a topic", m.Name)
		}
		broken[strings.TrimSpace(id)] = true
	}
	for _, id := range strings.Fields(required) {
		if !broken[id] {
			t.Errorf("no mutant breaks %s", id)
		}
	}
}

// required are the invariants that what exists so far has to keep.
const required = `I-1 I-2 I-3 I-4 I-5 I-6 I-7 I-8 I-9 I-10 I-11 I-12 I-13 I-14 I-15 I-16 I-17 I-18 I-19 I-20 I-21 I-22 I-23 I-24 I-25 I-26 I-27 I-28 I-29 I-30`
