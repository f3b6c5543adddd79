package repotest

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

// mayReadAcrossTenants lists the places, with how often they do it: look-ups by
// ids that came from rows already held, and counts.
var mayReadAcrossTenants = map[string]int{
	"internal/work/pass.go":            1, // rows that this process holds, by id
	"internal/chaostest/forgetting.go": 1, // all that is stored
	"internal/audit/audit.go":          1, // the highest id
	"internal/backlog/coming.go":       1, // counts; what other scopes have is left out of the answer
	"internal/outbox/unsubscribe.go":   1, // what waits for a subscriber of all tenants that is gone
	"internal/sweep/queue.go":          1, // walks and erasures that are due
	"internal/sweep/erasure.go":        1, // whether anybody was ever erased
	"internal/sweep/rule.go":           3, // old rows of all scopes, to delete
	"automation/health.go":             1, // lost series; what other scopes have is left out of the answer
	"internal/backlog/backlog.go":      2, // counts; likewise
	"internal/pause/pause.go":          2, // for the polls and Health, which ask what is paused
	"gauges.go":                        1, // counts
	"automation/reconcilepass.go":      1, // for Health; what other scopes have is left out of the answer
	"automation/stop.go":               1, // its poll
	"notify/bulk.go":                   1, // what has failed or is on hold of a channel, for who recovers it
	"notify/gate/rate.go":              2, // old reservations; how many scopes wait for a channel
	"notify/pause.go":                  1, // its poll
	"notify/known.go":                  1, // whether a type or channel is in use anywhere: its name alone
	"notify/resubscribe.go":            1, // the owner of an address who came back to an account that tenants share
	"internal/outage/outage.go":        1, // its poll
	"notify/stage.go":                  2, // the ids and times of messages of a span, for a list of one scope
	"notify/tracker.go":                2, // messages that a callback or a link names: by our ids, which nobody guesses, or by the provider of an account that tenants share
	"internal/unserved/find.go":        2, // its sweep, which looks for due rows that nobody serves
	"survey/instances.go":              1, // the instance of a link, by the hash of its unguessable token
	"survey/openlink.go":               1, // an open link, by the hash of its unguessable token
	"survey/owner.go":                  1, // the links of messages and of log entries, by their random ids; the caller takes those of its scopes
	"survey/tally.go":                  1, // the entries of results that are not counted yet
	"cli/args.go":                      1, // what waits in all tenants, for who runs the program
	"support/supporthttp/site.go":      1, // what waits in all tenants, for who may see all of them
}

// Tenants: nothing but the listed places reads without a scope. What is below
// storage defines it, and adapters have to understand it.
func TestOnlyTheListedPlacesReadAcrossTenants(t *testing.T) {
	t.Parallel()
	found := map[string]int{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		switch {
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != "." || name == "storage"):
			return filepath.SkipDir
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		n, err := uses(path)
		if n > 0 {
			found[filepath.ToSlash(name)] = n
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(mayReadAcrossTenants, found); diff != "" {
		t.Error("reads across tenants (-listed +found):\n", diff)
	}
}

// uses counts the lines that read everywhere, or call what does.
func uses(path string) (n int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		code, _, _ := strings.Cut(lines.Text(), "//")
		if strings.Contains(code, "Everywhere(") && !strings.HasPrefix(code, "func ") {
			n++
		}
	}
	return n, lines.Err()
}
