package main

import (
	"path/filepath"
	"testing"

	"github.com/belfry-go/belfry/internal/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

// The program is run twice on the same files, as a person would.
func TestTheCampaignReachesEverybodyOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "files")
	run := func(patterns ...string) {
		t.Helper()
		out := exampletest.Run(t, "-dir", dir, "-n", "5000")
		exampletest.Expect(t, out, append(patterns, `members in the file +5000\b`, `mails sent +4990\b`, `alarms sent +1\b`, `doubled +0\b`, `lost +0\b`)...)
	}
	run(`would be made, 5 members are in the file twice`, `killed \(SIGKILL\).*, [1-9]\d* mails are in doubt`, `The alarm is out`)
	run(`This run sent nothing`)
}
