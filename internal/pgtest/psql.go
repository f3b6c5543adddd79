package pgtest

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// PSQL runs SQL in psql, as a person or a program in another language would, and
// returns what it prints: rows without a frame, and the tag of each command.
func PSQL(t testing.TB, dsn, sql string, variables ...string) string {
	t.Helper()
	args := []string{"--no-psqlrc", "--no-align", "--tuples-only", "--set=ON_ERROR_STOP=1", "--dbname=" + dsn}
	for _, v := range variables {
		args = append(args, "--set="+v)
	}
	cmd := exec.CommandContext(t.Context(), client(t, "psql"), args...)
	var out, problems bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(sql), &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("pgtest: psql: %v: %s", err, problems.String())
	}
	return strings.TrimSpace(out.String())
}
