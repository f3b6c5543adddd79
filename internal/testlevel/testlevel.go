// Package testlevel says how much of the tests a run takes. BELFRY_TEST is one of
//
//   - quick is for while one works: domains on memory, every adapter through the
//     conformance suite and through the stories of internal/storytest.
//   - all is what a change has to pass: every domain on every adapter, guards of
//     plans, faults of the network, processes that are killed.
//   - full is for the night and before a release: the same at sizes that take an
//     hour.
//
// Where it is not set, the level is quick; but a run that names tests by -run is
// of level all, since a test that was asked for and skipped would look passed.
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
	All
	Full
)

var names = []string{"quick", "all", "full"}

func (l Level) String() string { return names[l] }

// Of is the level of this run. It ends the test where BELFRY_TEST is none.
func Of(t testing.TB) Level {
	t.Helper()
	run := flag.Lookup("test.run")
	level, err := parse(os.Getenv(Variable), run != nil && run.Value.String() != "")
	if err != nil {
		t.Fatal(err)
	}
	return level
}

// Has reports whether this run has what belongs to level.
func Has(t testing.TB, level Level) bool {
	t.Helper()
	return Of(t) >= level
}

// Need skips a test that belongs to level where this run does not have it.
// Benchmarks are not skipped: they run only where -bench asks for them.
func Need(t testing.TB, level Level) {
	t.Helper()
	_, benchmark := t.(*testing.B)
	if !benchmark && !Has(t, level) {
		t.Skipf("%s=%s runs it", Variable, level)
	}
}

// Lacks ends a test that needs what this machine does not have: it is skipped, but fails
// where CI is true, since nobody would notice there.
func Lacks(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// parse reads the variable; named says that the run names tests.
func parse(value string, named bool) (Level, error) {
	switch {
	case value == "" && named:
		return All, nil
	case value == "":
		return Quick, nil
	}
	for i, name := range names {
		if value == name {
			return Level(i), nil
		}
	}
	return Quick, fmt.Errorf("%s is %q, which is none of %s", Variable, value, strings.Join(names, ", "))
}
