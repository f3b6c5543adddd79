package pgtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Restore dumps the database at the URL from and restores it into the empty one at
// the URL into, which may be on another server.
func Restore(t testing.TB, from, into string) {
	t.Helper()
	dump := exec.CommandContext(t.Context(), client(t, "pg_dump"), "--no-owner", "--dbname="+from)
	var sql, problems bytes.Buffer
	dump.Stdout, dump.Stderr = &sql, &problems
	if err := dump.Run(); err != nil {
		t.Fatalf("pgtest: pg_dump: %v: %s", err, problems.String())
	}
	restore := exec.CommandContext(t.Context(), client(t, "psql"), "--quiet", "--set=ON_ERROR_STOP=1", "--dbname="+into)
	restore.Stdin, restore.Stderr = &sql, &problems
	if err := restore.Run(); err != nil {
		t.Fatalf("pgtest: psql: %v: %s", err, problems.String())
	}
}

// client finds a program of PostgreSQL's clients. They lie beside the server's, of
// which only some may be on the PATH.
func client(t testing.TB, name string) string {
	t.Helper()
	for _, dir := range postgresDirs() {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	required.missing(t, fmt.Errorf("needs %s of PostgreSQL's clients", name))
	return ""
}
