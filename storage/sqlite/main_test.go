package sqlite

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
)

// roleVariable makes the test binary a process of its own that does one thing.
const roleVariable = "BELFRY_SQLITE_TEST_ROLE"

// roles are those things; the argument is the path of a database.
var roles = map[string]func(ctx context.Context, path string) error{
	"claim":      claimAll,
	"bad commit": commitOnABadDisk,
}

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := roles[role](context.Background(), os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// process is this binary in a role. Its standard output is the answer.
func process(ctx context.Context, role, path string, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], path)
	cmd.Env = append(append(os.Environ(), roleVariable+"="+role), env...)
	cmd.Stderr = os.Stderr
	return cmd
}
