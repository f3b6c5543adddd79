package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// The program is run twice on the same files, as a person would.
func TestTheCampaignReachesEverybodyOnce(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "campaign")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	dir := filepath.Join(t.TempDir(), "files")
	run := func(patterns ...string) {
		t.Helper()
		out, err := exec.Command(program, "-dir", dir, "-n", "5000").CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, p := range append(patterns, `members in the file +5000\b`, `mails sent +4990\b`, `alarms sent +1\b`, `doubled +0\b`, `lost +0\b`) {
			if !regexp.MustCompile(p).Match(out) {
				t.Errorf("no %s in:\n%s", p, out)
			}
		}
	}
	run(`would be made, 5 members are in the file twice`, `killed \(SIGKILL\).*, [1-9]\d* mails are in doubt`, `The alarm is out`)
	run(`This run sent nothing`)
}
