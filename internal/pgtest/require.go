package pgtest

import (
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
)

// requirement is what the tests of this process do about missing programs.
type requirement struct {
	getenv func(string) string
	out    io.Writer
	said   sync.Map // what has been told
}

var required = requirement{getenv: os.Getenv, out: os.Stderr}

// missing ends a test that lacks a program: it skips where a developer may not have it,
// and fails where a skip would go unnoticed. A process says once what is missing; the
// other tests that lack it are skipped.
func (r *requirement) missing(t testing.TB, why error) {
	t.Helper()
	if _, known := r.said.LoadOrStore(why.Error(), true); known {
		t.Skip("pgtest: skipped like the first test that lacks it: see there")
	}
	if r.getenv("CI") == "true" || r.getenv("BELFRY_REQUIRE_POSTGRES") == "1" {
		t.Fatalf("pgtest: %v", why)
	}
	fmt.Fprintf(r.out, "\n*** TESTS ARE SKIPPED: pgtest %v ***\n\n", why)
	t.Skipf("pgtest: %v", why)
}

// foundPostgres asks the programs for their version once, not for each database.
var foundPostgres = sync.OnceValues(findPostgres)

func requirePostgres(t testing.TB) string {
	t.Helper()
	bin, err := foundPostgres()
	if err != nil {
		required.missing(t, err)
	}
	return bin
}

func requireBouncer(t testing.TB) string {
	t.Helper()
	path, err := findBouncer()
	if err != nil {
		required.missing(t, err)
	}
	return path
}
