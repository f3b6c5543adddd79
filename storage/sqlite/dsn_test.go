package sqlite

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/internal/testlevel"
)

func TestUnsafeParametersAreRefused(t *testing.T) {
	t.Parallel()
	for param, part := range map[string]string{
		"_journal_mode=DELETE":    "readers and the writer lock each other out",
		"_journal=memory":         "readers and the writer lock each other out",
		"_txlock=deferred":        "deferred transactions fail",
		"_txlock=exclusive":       "_txlock=exclusive is refused",
		"cache=shared":            "a shared cache",
		"mode=ro":                 "the store writes",
		"mode=memory":             ":memory:",
		"immutable=1":             "the file changes",
		"nolock=1":                "not among those that are known to be safe",
		"_synchronous=OFF":        "Options.Synchronous",
		"_busy_timeout=5000":      "set Options.BusyTimeout",
		"_locking_mode=EXCLUSIVE": "other processes",
		"_query_only=1":           "the store writes",
		"_mutex=no":               "not among those that are known to be safe",
		"a=%zz":                   "parameters of",
	} {
		for _, scheme := range []string{"", "file:"} {
			path := filepath.Join(t.TempDir(), "a.db")
			_, err := Open(t.Context(), scheme+path+"?"+param, nil)
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s%s: %v, want %q", scheme, param, err, part)
			}
			if _, err := os.Stat(path); err == nil {
				t.Errorf("%s%s: a file was made", scheme, param)
			}
		}
	}
}

func TestPathsNameTheFileTheySay(t *testing.T) {
	t.Parallel()
	for given, file := range map[string]string{
		"a.db":                           "a.db",
		"with space.db":                  "with space.db",
		"100%25.db":                      "100%25.db",
		"a#b&c.db":                       "a#b&c.db",
		"ünï.db":                         "ünï.db",
		"a.db?_cache_size=-4000":         "a.db",
		"file:a%3Fb.db":                  "a?b.db",
		"file:a.db?mode=rwc&vfs=unix":    "a.db",
		"a.db?_txlock=immediate":         "a.db",
		"file:a.db?_journal=wal&mode=rw": "a.db",
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, given)
		if rest, ok := strings.CutPrefix(given, "file:"); ok {
			path = "file:" + filepath.Join(dir, rest)
		}
		if strings.Contains(given, "mode=rw") && !strings.Contains(given, "mode=rwc") {
			opened(t, filepath.Join(dir, file), nil)
		}
		opened(t, path, nil)
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Errorf("%s: %v", given, err)
		}
	}
}

func TestPathsThatCannotBeOpenedAreNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "letter.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("Dear reader, ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, part := range map[string]string{
		"":                                    "the path is empty",
		"file:":                               "the path is empty",
		"?_cache_size=1":                      "the path is empty",
		filepath.Join(dir, "no", "such.db"):   "such.db: ",
		dir:                                   dir,
		text:                                  "file is not a database",
		filepath.Join(dir, "a.db") + "?vfs=x": "no such vfs: x",
	} {
		_, err := Open(t.Context(), path, &Options{Migrate: MigrateOff})
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %v, want %q", path, err, part)
		}
	}
}

// Trap 12: built without cgo the C driver is a stub. A program has SQLite in Go then, and
// works on the file that another one has open in C, beside a host's import of the stub.
func TestTrap12OpenWorksWithoutCgo(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Nightly)
	s, path := onFile(t, nil)
	execSQL(t, s.DB(), "CREATE TABLE host (n)")
	cmd := exec.CommandContext(t.Context(), "go", "run", "./testdata/nocgo", path)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	driver, ours, _ := strings.Cut(string(out), "\n")
	if !strings.Contains(driver, "requires cgo") {
		t.Errorf("the driver is not a stub: %s", driver)
	}
	if n := scan[int](t, s.DB(), "SELECT n FROM host"); strings.TrimSpace(ours) != "<nil>" || n != 7 {
		t.Errorf("%s, and the row has %d", ours, n)
	}
}
