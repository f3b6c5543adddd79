package faults

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
)

// Every fault is caught by the tests that it names, and these pass without it.
// BELFRY_TEST=nightly runs all of them; one alone runs always:
//
//	go test ./internal/faults -v -run 'TestEveryFaultIsCaught/I-3_another_input'
func TestEveryFaultIsCaught(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Nightly)
	faults := all()
	b := &bench{module: theModule(t), faults: faults, dir: t.TempDir(), turns: semaphore.NewWeighted(turns), clean: map[string]*clean{}}
	t.Cleanup(func() { t.Log(b.summary()) })
	for i, f := range faults {
		t.Run(f.Name, func(t *testing.T) {
			b.want(f)
			t.Parallel()
			if err := b.turns.Acquire(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			defer b.turns.Release(1)
			if problem := b.check(t, f, i+1); problem != "" {
				t.Error(problem)
			}
		})
	}
}

// turns is how many tests run at once: somewhat more than processors, since those wait
// in vain whose fault shows in waiting.
const turns = 3

// bench builds the tests once, with all faults in them, and runs them.
type bench struct {
	module *module
	faults []fault
	dir    string
	turns  *semaphore.Weighted // as many as run at once

	building sync.Once
	built    error

	sync.Mutex
	packages []string          // whose tests are wanted
	clean    map[string]*clean // by fault.Test
	times    []timing
	build    timing
}

// clean is a run of tests without a fault.
type clean struct {
	sync.Once
	took    time.Duration
	problem string
	skipped string // what the tests need and do not find
}

// timing is what something took: by the clock, and of the processors.
type timing struct {
	what         string
	took, worked time.Duration
}

// want has the tests of f built with the others: all faults that run say so before
// the first of them does.
func (b *bench) want(f fault) {
	b.Lock()
	defer b.Unlock()
	if dir, _ := f.test(); !slices.Contains(b.packages, dir) {
		b.packages = append(b.packages, dir)
	}
}

// check gives what is wrong with a fault, which is nothing where it is caught.
func (b *bench) check(t *testing.T, f fault, number int) string {
	b.building.Do(func() { b.built = b.buildAll(t.Context()) })
	if b.built != nil {
		return b.built.Error()
	}
	c := b.without(t, f)
	if c.problem != "" {
		return c.problem
	}
	if c.skipped != "" {
		t.Skip(c.skipped)
	}
	limit := max(time.Minute, 5*c.took)
	if f.Hangs {
		limit = max(3*time.Second, 5*c.took)
	}
	out, err := b.run(t, f, number, limit)
	if problem := f.verdict(out, err); problem != "" {
		return problem + ":\n" + out
	}
	t.Logf("caught; see that it is for the right reason:\n%.1000s", out)
	return ""
}

// verdict gives what is wrong with the tests of f after they ran with the fault.
func (f fault) verdict(out string, err error) string {
	timeout := strings.Contains(out, "panic: test timed out")
	switch {
	case err == nil:
		return fmt.Sprintf("%q in %s was not caught by %s", f.Name, f.In, f.Test)
	case timeout && !f.Hangs:
		return fmt.Sprintf("the tests for %q did not end, which is not what should show the fault", f.Name)
	case !broken.MatchString(out):
		return fmt.Sprintf("the tests for %q did not run: %v", f.Name, err)
	default:
		return ""
	}
}

var broken = regexp.MustCompile(`--- FAIL|panic:|fatal error:`)

// without runs the tests of f without a fault, once for all faults that name them.
func (b *bench) without(t *testing.T, f fault) *clean {
	b.Lock()
	c := b.clean[f.Test]
	if c == nil {
		c = &clean{}
		b.clean[f.Test] = c
	}
	b.Unlock()
	c.Do(func() {
		out, err := b.run(t, f, 0, 5*time.Minute) // a slow machine is no fault
		b.Lock()
		c.took = b.times[len(b.times)-1].took
		b.Unlock()
		_, run := f.test()
		if err != nil {
			c.problem = fmt.Sprintf("%s fails without a fault: %v\n%s", f.Test, err, out)
		} else if missing := notPassed(run, out); missing != "" && strings.Contains(out, "pgtest: needs ") {
			c.skipped = out
		} else if missing != "" {
			c.problem = fmt.Sprintf("%s: no test %q has passed without a fault\n%s", f.Test, missing, out)
		}
	})
	return c
}

// notPassed is an alternative of a pattern that no passing test matches; out is
// what the tests wrote.
func notPassed(run, out string) string {
	alternatives := split(run, '|')
	for i, p := range patterns(run) {
		if !slices.ContainsFunc(passed.FindAllStringSubmatch(out, -1), func(m []string) bool { return p.matches(m[1]) }) {
			return alternatives[i]
		}
	}
	return ""
}

var passed = regexp.MustCompile(`(?m)^ *--- PASS: (\S+)`)

// buildAll builds the tests that are wanted.
func (b *bench) buildAll(ctx context.Context) error {
	list, err := overlay(b.module, b.faults, b.dir)
	if err != nil {
		return err
	}
	// Programs are named after the last element of their package's path, which two
	// packages share: those go into a round of their own.
	packages := b.packages
	for round := 0; len(packages) > 0; round++ {
		var now, later []string
		names := map[string]bool{}
		for _, dir := range packages {
			if name := program(dir); names[name] {
				later = append(later, dir)
			} else {
				now, names[name] = append(now, dir), true
			}
		}
		if err := b.buildRound(ctx, list, now); err != nil {
			return err
		}
		packages = later
	}
	return nil
}

func (b *bench) buildRound(ctx context.Context, list string, packages []string) error {
	out, err := os.MkdirTemp(b.dir, "round")
	if err != nil {
		return err
	}
	args := []string{
		"test", "-c", "-vet=off", "-overlay=" + list, "-o=" + out + string(filepath.Separator),
		"-gcflags=github.com/belfry-go/belfry/...=-N -l -dwarf=false", "-ldflags=-s -w", // quicker to build
	}
	for folder, names := range homes(packages) {
		if output, err := b.time(&b.build, exec.CommandContext(ctx, "go", append(args[:len(args):len(args)], names...)...), folder); err != nil {
			return fmt.Errorf("building with all faults: %w\n%s", err, output)
		}
	}
	for _, dir := range packages {
		if err := os.Rename(filepath.Join(out, program(dir)), b.program(dir)); err != nil {
			return err
		}
	}
	return nil
}

// program is how go test -c names the tests of a package.
func program(dir string) string {
	if dir == "." {
		return "belfry.test"
	}
	return path.Base(dir) + ".test"
}

func (b *bench) program(dir string) string {
	return filepath.Join(b.dir, strings.ReplaceAll(path.Clean(dir), "/", "_")+".test")
}

// run runs the tests of f with the fault of that number, in their own folder. Those
// that need a PostgreSQL share one.
func (b *bench) run(t *testing.T, f fault, number int, limit time.Duration) (string, error) {
	dir, run := f.test()
	ctx, cancel := context.WithTimeout(t.Context(), limit+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.program(dir), "-test.run="+run, "-test.failfast", "-test.timeout="+limit.String())
	if number == 0 {
		cmd.Args = append(cmd.Args, "-test.v")
	}
	// A template that a mutant made, or one that hides it, must not be shared.
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", variable, number), pgtest.ClusterVariable+"=")
	if f.Postgres {
		cmd.Env = append(cmd.Env, "BELFRY_POSTGRES_DSN="+pgtest.DSN(t))
	}
	one := timing{what: f.Name}
	if number == 0 {
		one.what = "without a fault: " + f.Test
	}
	out, err := b.time(&one, cmd, filepath.Join(root, filepath.FromSlash(dir)))
	b.Lock()
	defer b.Unlock()
	b.times = append(b.times, one)
	return out, err
}

// time adds to a timing what a command takes in a folder.
func (b *bench) time(to *timing, cmd *exec.Cmd, dir string) (string, error) {
	cmd.Dir = dir
	start := time.Now()
	out, err := cmd.CombinedOutput()
	to.took += time.Since(start)
	if s := cmd.ProcessState; s != nil {
		to.worked += s.UserTime() + s.SystemTime()
	}
	return string(out), err
}

// summary says what building and running took, and which faults took longest.
func (b *bench) summary() string {
	b.Lock()
	defer b.Unlock()
	var all timing
	for _, one := range b.times {
		all.took += one.took
		all.worked += one.worked
	}
	second := func(d time.Duration) string { return d.Round(10 * time.Millisecond).String() }
	var s strings.Builder
	fmt.Fprintf(&s, "building took %s (%s of the processors), %d runs took %s (%s), %d at a time; the slowest:",
		second(b.build.took), second(b.build.worked), len(b.times), second(all.took), second(all.worked), turns)
	slices.SortFunc(b.times, func(x, y timing) int { return int(y.took - x.took) })
	for _, one := range b.times[:min(10, len(b.times))] {
		fmt.Fprintf(&s, "\n\t%8s (%s) %s", second(one.took), second(one.worked), one.what)
	}
	return s.String()
}
