//go:build linux && !cgo

package sqlite

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/internal/testlevel"
)

// Who installs the program gets one file: it loads no library and no linker of the
// system's. The second one works on a database.
func TestAProgramWithoutCgoIsOneStaticFile(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Check)
	for program, says := range map[string]string{
		"examples/front": "sam@example.com: We have your order",
		"internal/demo":  "doubled            0\nlost               0\n",
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, filepath.Base(program))
		build := exec.CommandContext(t.Context(), "go", "build", "-o", file, "github.com/belfry-go/belfry/"+program)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		wantStatic(t, file)
		run := exec.CommandContext(t.Context(), file)
		run.Dir = t.TempDir() // the demo makes a folder of its own name
		if out, err := run.CombinedOutput(); err != nil || !strings.Contains(string(out), says) {
			t.Errorf("%s: %v\n%s", program, err, out)
		}
	}
}

func wantStatic(t *testing.T, file string) {
	t.Helper()
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_DYNAMIC || p.Type == elf.PT_INTERP {
			t.Errorf("%s is linked dynamically: it has a segment %s", filepath.Base(file), p.Type)
		}
	}
	if len(f.Progs) == 0 {
		t.Errorf("%s has no segments", file)
	}
}
