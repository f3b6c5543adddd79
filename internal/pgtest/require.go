package pgtest

import (
	"os"
	"testing"
)

// missing ends a test that lacks a program: it skips where a developer may not
// have it, and fails where nobody would notice the skip.
func missing(t testing.TB, why error, getenv func(string) string) {
	t.Helper()
	if getenv("CI") == "true" || getenv("BELFRY_REQUIRE_POSTGRES") == "1" {
		t.Fatalf("pgtest: %v", why)
	}
	t.Skipf("pgtest: %v", why)
}

func requirePostgres(t testing.TB) string {
	t.Helper()
	bin, err := findPostgres()
	if err != nil {
		missing(t, err, os.Getenv)
	}
	return bin
}

func requireBouncer(t testing.TB) string {
	t.Helper()
	path, err := findBouncer()
	if err != nil {
		missing(t, err, os.Getenv)
	}
	return path
}
