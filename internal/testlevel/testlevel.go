// Package testlevel says how much of the tests a run takes. BELFRY_TEST is one of
//
//   - quick is for while one works: domains in memory, and the stories of
//     internal/storytest on SQLite and PostgreSQL.
//   - check is what a change has to pass: quick, and poolers, killed processes and
//     modules of their own. Nothing in it depends on time or load.
//   - nightly is everything: each domain on each adapter, mutants, plans and statistics
//     of servers, time limits, and sizes that take an hour.
//
// Where it is not set the level is quick. A run that names tests by -run takes them at
// any level, with the sizes of check: a test that was asked for and skipped would look
// passed.
//
// Only tests and storage/storagetest import it.
package testlevel

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

// Variable is the environment variable that sets the level.
const Variable = "BELFRY_TEST"

// Level is how much runs. Each level has all that the one before it has.
type Level int

// The levels.
const (
	Quick Level = iota
	Check
	Nightly
)

var names = []string{"quick", "check", "nightly"}

func (l Level) String() string { return names[l] }

// Of is the level of this run, which sets its sizes. It ends the test where BELFRY_TEST
// is not a level.
func Of(t testing.TB) Level {
	t.Helper()
	level, err := parse(os.Getenv(Variable), named())
	if err != nil {
		t.Fatal(err)
	}
	return level
}

// Has reports whether this run has the sizes of level.
func Has(t testing.TB, level Level) bool {
	t.Helper()
	return Of(t) >= level
}

// Runs reports whether this run takes the tests of level.
func Runs(t testing.TB, level Level) bool {
	t.Helper()
	return Has(t, level) || os.Getenv(Variable) == "" && named()
}

// Need skips a test of level where this run does not take it. Benchmarks are not
// skipped: they run only where -bench asks for them.
func Need(t testing.TB, level Level) {
	t.Helper()
	_, benchmark := t.(*testing.B)
	if !benchmark && !Runs(t, level) {
		t.Skipf("%s=%s runs it", Variable, level)
	}
}

// Lacks ends a test that needs what this machine does not have: it is skipped, but fails
// where CI is true, since a skipped test is not noticed there.
func Lacks(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// named reports whether the run names its tests.
func named() bool {
	run := flag.Lookup("test.run")
	return run != nil && run.Value.String() != ""
}

func parse(value string, named bool) (Level, error) {
	switch {
	case value == "" && named:
		return Check, nil
	case value == "":
		return Quick, nil
	}
	for i, name := range names {
		if value == name {
			return Level(i), nil
		}
	}
	return Quick, fmt.Errorf("%s is %q, not one of %s", Variable, value, strings.Join(names, ", "))
}
