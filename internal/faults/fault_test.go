package faults

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/internal/pgtest"
)

// fault is one deliberate fault: in the function In, Old becomes New; then the
// tests that Test names must fail.
type fault struct {
	// Name begins with the invariant that the fault breaks, or with a word for what
	// it is about and a colon.
	Name string
	// In is a function, "automation.decideAt", or a method,
	// "automation.Scheduler.Ensure". The package is the end of its path, as much of it
	// as makes it the only one: "work", "channel/webhook".
	In string
	// Old is Go, found by its tokens: white space, line breaks and comments do not
	// matter. It may also be a part of one string literal, such as SQL. The function
	// holds it once.
	Old, New string
	// Test is a package and a pattern as for go test -run: "./automation TestI3_/memory".
	Test string

	Postgres bool // Test needs databases on a PostgreSQL
	Hangs    bool // the fault shows in that Test does not end
}

func (f fault) test() (dir, pattern string) {
	dir, pattern, _ = strings.Cut(f.Test, " ")
	return dir, pattern
}

// all are the deliberate faults. The place of each in the list is its number.
func all() []fault {
	return slices.Concat(storageFaults, internalFaults, automationFaults, replanFaults, notifyFaults, mailFaults, channelFaults, surveyFaults, httpFaults, supportFaults)
}

func TestMain(m *testing.M) { pgtest.Main(m) }

// Every fault still finds its function, the code that it changes and its test.
// Nothing is built for this.
func TestEveryFaultIsFound(t *testing.T) {
	t.Parallel()
	m := theModule(t)
	for _, f := range all() {
		for _, problem := range m.problems(f) {
			t.Errorf("%q: %s", f.Name, problem)
		}
	}
}

// What was caught is told from what was not.
func TestWhatIsNotCaughtIsSaid(t *testing.T) {
	t.Parallel()
	failed := errors.New("exit status 1")
	for _, c := range []struct {
		out   string
		err   error
		hangs bool
		want  string
	}{
		{out: "--- FAIL: TestX (0.00s)", err: failed},
		{out: "panic: runtime error", err: failed},
		{out: "panic: test timed out after 3s", err: failed, hangs: true},
		{out: "PASS", want: `"I-0 an example" in keys.New was not caught by ./keys TestX`},
		{out: "PASS", hangs: true, want: "was not caught"},
		{out: "panic: test timed out after 1m0s", err: failed, want: "did not end"},
		{out: "no such file", err: failed, want: "did not run"},
	} {
		f := fault{Name: "I-0 an example", In: "keys.New", Test: "./keys TestX", Hangs: c.hangs}
		if got := f.verdict(c.out, c.err); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%q is %q, want %q", c.out, got, c.want)
		}
	}
	out := "--- PASS: TestX (0.00s)\n    --- PASS: TestX/memory (0.00s)\n    --- SKIP: TestX/sqlite (0.00s)\n"
	for run, want := range map[string]string{
		"TestX": "", "TestX/mem": "", "TestX/sqlite": "TestX/sqlite", "TestX/memory/one": "TestX/memory/one",
		"TestY|TestX": "TestY", "Test(X|Y)/memory": "",
	} {
		if got := notPassed(run, out); got != want {
			t.Errorf("of %s %q has not passed, want %q", run, got, want)
		}
	}
}

// What has moved on is said, and what to mend.
func TestWhatIsNotFoundIsSaid(t *testing.T) {
	t.Parallel()
	m := theModule(t)
	right := fault{
		Name: "I-0 an example", In: "strictjson.Decode", Old: "tree, ok", New: "true",
		Test: "./internal/strictjson TestWhatIsRightIsRead",
	}
	if got := m.problems(right); len(got) > 0 {
		t.Errorf("problems are %s, want none", got)
	}
	for want, change := range map[string]func(*fault){
		`no function "strictjson.Decoded"`:               func(f *fault) { f.In = "strictjson.Decoded" },
		`no package "strictjsons"`:                       func(f *fault) { f.In = "strictjsons.Decode" },
		`"webhook" are 2 packages`:                       func(f *fault) { f.In = "webhook.New" },
		`strictjson.Decode does not hold "neverThere()"`: func(f *fault) { f.Old = "neverThere()" },
		`strictjson.Decode holds "r.faults" 2 times`:     func(f *fault) { f.Old = "r.faults" },
		`no test package "./internal/strictjsons"`:       func(f *fault) { f.Test = "./internal/strictjsons TestWhatIsRightIsRead" },
		`no test of ./internal/strictjson matches "TestNever"`: func(f *fault) {
			f.Test = "./internal/strictjson TestNever/memory"
		},
	} {
		f := right
		change(&f)
		if got := fmt.Sprint(m.problems(f)); !strings.Contains(got, want) {
			t.Errorf("problems are %s, want %s", got, want)
		}
	}
}

var (
	invariant = regexp.MustCompile(`^I-[0-9]+ `)
	topic     = regexp.MustCompile(`^[a-z]+: `)
)

func TestEveryInvariantHasAFault(t *testing.T) {
	t.Parallel()
	seen, broken := map[string]bool{}, map[string]bool{}
	for _, f := range all() {
		id := invariant.FindString(f.Name)
		if id == "" && !topic.MatchString(f.Name) {
			t.Errorf("%q begins with neither an invariant nor a topic", f.Name)
		}
		if seen[f.Name] {
			t.Errorf("two faults are called %q", f.Name)
		}
		seen[f.Name], broken[strings.TrimSpace(id)] = true, true
	}
	for i := 1; i <= invariants; i++ {
		if id := fmt.Sprintf("I-%d", i); !broken[id] {
			t.Errorf("no fault breaks %s", id)
		}
	}
}

// invariants is how many there are, I-1 to the last: docs/sending.md lists them.
const invariants = 30
