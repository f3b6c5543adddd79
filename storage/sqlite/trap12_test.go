package sqlite

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/internal/testlevel"
)

// Trap 12: built without cgo the driver is a stub, whose error says nothing of
// what to do about it.
func TestTrap12OpenWithoutCgoSaysWhatToInstall(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.All)
	cmd := exec.CommandContext(t.Context(), "go", "run", "./testdata/nocgo")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	driver, ours, _ := strings.Cut(string(out), "\n")
	if !strings.Contains(driver, "requires cgo") {
		t.Errorf("the driver is no stub: %s", driver)
	}
	for _, part := range []string{"built without cgo", "install a C compiler", "gcc", "CGO_ENABLED=1"} {
		if !strings.Contains(ours, part) {
			t.Errorf("the error lacks %q: %s", part, ours)
		}
	}
}
