package versiontest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	root     = "../.."
	register = "storage/migrations.txt"
	program  = "./internal/versiontest/host"
)

// programs are a host's, of both versions.
type programs struct {
	oldest, today string
	added         []string // migrations that only today's has
}

// built builds both programs, the oldest from a clone of the repository.
func built(t *testing.T) programs {
	t.Helper()
	commit := oldest(t)
	dir := t.TempDir()
	clone := filepath.Join(dir, "oldest")
	command(t, root, "git", "clone", "--quiet", "--shared", "--no-checkout", ".", clone)
	command(t, clone, "git", "checkout", "--quiet", "--detach", commit)
	if _, err := os.Stat(filepath.Join(clone, program)); err != nil { // it is older than the program
		if err := os.CopyFS(filepath.Join(clone, program), os.DirFS(filepath.Join(root, program))); err != nil {
			t.Fatal(err)
		}
	}
	p := programs{filepath.Join(dir, "host-oldest"), filepath.Join(dir, "host-today"), added(t, clone)}
	command(t, clone, "go", "build", "-buildvcs=false", "-o", p.oldest, program)
	command(t, root, "go", "build", "-buildvcs=false", "-o", p.today, program)
	return p
}

// oldest is the commit that the file names. Where the history does not have it there is
// nothing to build.
func oldest(t *testing.T) string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(read(t, root, "storage/oldest.txt")), "\n")
	commit := lines[len(lines)-1]
	cmd := exec.CommandContext(t.Context(), "git", "cat-file", "-e", commit+"^{commit}")
	cmd.Dir = root
	if said, err := cmd.CombinedOutput(); err != nil {
		if frozen(t) && historied(t) {
			t.Fatalf("commit %s, which storage/oldest.txt names, is not in the history: %v %s", commit, err, said)
		}
		t.Skipf("NOT TESTED: commit %s is not here, so that programs of two versions share nothing: %v %s", commit, err, said)
	}
	return commit
}

// historied reports whether this checkout has to know the commit: it is a repository, and
// its history is whole, or has to be, since this is the gate.
func historied(t *testing.T) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "rev-parse", "--is-shallow-repository")
	cmd.Dir = root
	said, err := cmd.Output()
	return err == nil && (os.Getenv("CI") == "true" || strings.TrimSpace(string(said)) == "false")
}

// added are the migrations since a version. It skips the test if there is another difference
// and migrations are still edited in place.
func added(t *testing.T, old string) []string {
	t.Helper()
	now, then := read(t, root, register), read(t, old, register)
	all := migrations(now)
	for _, m := range migrations(then) {
		if !slices.Contains(all, m) && !frozen(t) {
			t.Skipf("NOT TESTED: migrations are still edited in place, and %.30s… was", m)
		}
	}
	return slices.DeleteFunc(all, func(m string) bool { return slices.Contains(migrations(then), m) })
}

// frozen reports whether migrations are edited in place no more.
func frozen(t *testing.T) bool {
	t.Helper()
	return strings.Contains(read(t, root, register), "\n# frozen\n")
}

func migrations(register string) (all []string) {
	for line := range strings.Lines(register) {
		if !strings.HasPrefix(line, "#") {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func command(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, said)
	}
}
