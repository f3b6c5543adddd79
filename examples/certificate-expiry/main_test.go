package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The tests start this binary as the program, and it starts itself as a worker.
func TestMain(m *testing.M) {
	if os.Getenv("BELFRY_EXAMPLE") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// The program is run twice, as a person would: first it prints the whole story, of which
// the README shows the end, then that all of it had been said before.
func TestTheDemonstrationPrintsItsStory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := run(t, dir), run(t, dir)
	if want := read(t, "testdata/story.txt"); first != want {
		t.Errorf("the program prints\n%s\nand not\n%s", first, want)
	}
	for _, line := range []string{" 0 reminders are new", "mails sent         180", "doubled            0", "This run sent nothing"} {
		if !strings.Contains(second, line) {
			t.Errorf("no %q in the second run:\n%s", line, second)
		}
	}
	_, shown, _ := strings.Cut(read(t, "../../README.md"), "The demo prints, among more:\n\n")
	shown, _, _ = strings.Cut(shown, "\n\n")
	lines := strings.Split(shown, "\n")
	for _, line := range lines {
		if !strings.Contains(first, "\n"+strings.TrimPrefix(line, "    ")+"\n") {
			t.Errorf("the README shows %q, which the program does not print", line)
		}
	}
	if len(lines) < 4 {
		t.Errorf("the README shows %d lines of it", len(lines))
	}
}

// The console answers from the database that the demonstration has left.
func TestTheConsoleKnowsWhyAReminderDidNotGoOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run(t, dir)
	sch := open(t.Context(), settings{db: filepath.Join(dir, "demo/school.db"), out: filepath.Join(dir, "demo/mail")}, lastDay)
	defer sch.store.Close()
	answer := httptest.NewRecorder()
	sch.site().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/story?person=teacher-017", nil))
	if page := answer.Body.String(); answer.Code != http.StatusOK || !strings.Contains(page, "Superseded") || !strings.Contains(page, "2026-04-24") {
		t.Errorf("%d: %s", answer.Code, page)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func run(t *testing.T, dir string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "BELFRY_EXAMPLE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
