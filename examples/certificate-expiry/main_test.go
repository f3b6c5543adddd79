package main

import (
	"os"
	"os/exec"
	"regexp"
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

var block = regexp.MustCompile(`(?m)(?:^    .*\n|^\n)+`)

// The program is run twice, as a person would, and prints what the README says.
func TestTheReadmeShowsWhatTheDemonstrationPrints(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(readme), "and nothing else:\n")
	blocks := block.FindAllString(after, 2)
	dir := t.TempDir()
	first, second := run(t, dir), run(t, dir)
	if want := bare(blocks[0]); first != want {
		t.Errorf("the program prints\n%s\nand the README shows\n%s", first, want)
	}
	for line := range strings.Lines("0 reminders are new\n" + bare(blocks[1])) {
		if line != "…\n" && !strings.Contains(second, strings.TrimSpace(line)) {
			t.Errorf("no %q in the second run:\n%s", line, second)
		}
	}
}

// bare is a block without its indent and the empty lines around it.
func bare(block string) string {
	return strings.TrimSpace(strings.ReplaceAll("\n"+block, "\n    ", "\n")) + "\n"
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
