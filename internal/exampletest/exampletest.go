// Package exampletest runs an example as a program of its own, without building
// it again: the test's binary is started once more, as the example.
//
//	func TestMain(m *testing.M) { exampletest.Main(m, main) }
//
//	func TestTheStory(t *testing.T) {
//		out := exampletest.Run(t, "-db", filepath.Join(t.TempDir(), "school.db"))
//		exampletest.Expect(t, out, `mails sent +180\b`, `doubled +0\b`)
//	}
//
// What the example starts itself by os.Args[0] or os.Executable is the example
// again, as long as it hands on its environment (a nil Env of exec.Cmd does).
// An example that starts no processes needs none of this: its test calls the
// function that main calls.
//
// Main is also what pgtest.Main is, so that a test may ask for a database. On
// PostgreSQL a story belongs to level check:
//
//	t.Run("postgres", func(t *testing.T) {
//		testlevel.Need(t, testlevel.Check)
//		out := exampletest.Run(t, "-dsn", pgtest.DSN(t))
package exampletest

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/belfry-go/belfry/internal/pgtest"
)

// variable marks the environment of a process that is the example.
const variable = "BELFRY_EXAMPLE"

// Main is the TestMain of an example: it runs the tests, or program where Run
// has started the process. It exits.
func Main(m *testing.M, program func()) {
	if os.Getenv(variable) != "" {
		program()
		os.Exit(0)
	}
	pgtest.Main(m)
}

// Run runs the example with args to its end, which has to be a good one, and
// returns all that it writes.
func Run(t testing.TB, args ...string) []byte {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), variable+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// Expect fails the test for each pattern that is nowhere in out.
func Expect(t testing.TB, out []byte, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile(p).Match(out) {
			t.Errorf("no %s in:\n%s", p, bytes.TrimSpace(out))
		}
	}
}
