package pgtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheNewestServerProgramsComeFirst(t *testing.T) {
	t.Parallel()
	dirs := []string{"/x/9.6/bin", "/x/15/bin", "/x/odd/bin", "/x/8.4/bin", "/x/17/bin"}
	want := []string{"/x/17/bin", "/x/15/bin", "/x/9.6/bin", "/x/8.4/bin", "/x/odd/bin"}
	if diff := cmp.Diff(want, newestFirst(dirs)); diff != "" {
		t.Fatalf("order (-want +got):\n%s", diff)
	}
}

func TestServerVersion(t *testing.T) {
	t.Parallel()
	for says, want := range map[string]int{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)": 15,
		"postgres (PostgreSQL) 18beta1":                        18,
		"postgres (PostgreSQL) 9.6.24":                         9,
		"something else":                                       0,
	} {
		dir := t.TempDir()
		script(t, dir, "postgres", "echo '"+says+"'")
		if _, err := serverVersion(dir); err == nil {
			t.Fatal("a directory without initdb passed")
		}
		script(t, dir, "initdb", "")
		got, err := serverVersion(dir)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%q is version %d, %v; want %d", says, got, err, want)
		}
	}
}

func script(t *testing.T, dir, name, body string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}
