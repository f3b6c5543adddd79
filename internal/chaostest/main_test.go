package chaostest

import (
	"fmt"
	"os"
	"testing"

	"github.com/belfry-go/belfry/internal/pgtest"
)

// TestMain is also the main function of the worker processes that the tests
// start: this binary, with a role in its environment.
func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "" {
		pgtest.Main(m)
		return
	}
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}
