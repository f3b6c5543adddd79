package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
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
// the README shows the end, then that everything had been asked for before.
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
	_, shown, _ := strings.Cut(read(t, "../../README.md"), "Among other lines the demo prints:\n\n")
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

// The console answers from the database of the demonstration, which it plays where there
// is none.
func TestTheConsoleKnowsWhyAReminderDidNotGoOut(t *testing.T) {
	t.Parallel()
	program := command(t, t.TempDir(), "-console", "127.0.0.1:0")
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = program.Process.Kill(), program.Wait() }()
	site := ""
	for lines := bufio.NewScanner(out); site == "" && lines.Scan(); {
		if address, ok := strings.CutPrefix(lines.Text(), "Open "); ok {
			site, _, _ = strings.Cut(address, " ")
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, site+"story?person=teacher-017", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(page), "Superseded") || !strings.Contains(string(page), "2026-04-24") {
		t.Errorf("%s %v: %s", answer.Status, err, page)
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
	out, err := command(t, dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// command is the program in a folder.
func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "BELFRY_EXAMPLE=1")
	return cmd
}
