package repotest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage/driver"
)

// Both dialects have the same history: the same files, numbered from 1 without a gap.
func TestBothDialectsHaveTheSameMigrations(t *testing.T) {
	t.Parallel()
	files := map[string][]string{}
	for _, dialect := range []string{"postgres", "sqlite"} {
		for i, path := range paths(t, dialect) {
			name := filepath.Base(path)
			if want := fmt.Sprintf("%04d_", i+1); !strings.HasPrefix(name, want) {
				t.Errorf("%s: %s stands where %s… is expected", dialect, name, want)
			}
			files[dialect] = append(files[dialect], name)
		}
	}
	if diff := cmp.Diff(files["postgres"], files["sqlite"]); diff != "" {
		t.Error("-postgres +sqlite:\n", diff)
	}
}

// paths are the migrations of a dialect.
func paths(t *testing.T, dialect string) []string {
	t.Helper()
	paths, err := filepath.Glob(root + "/storage/" + dialect + "/migrations/*.sql")
	if err != nil || len(paths) == 0 {
		t.Fatal(dialect, "has no migrations", err)
	}
	return paths
}

// The first tag switches on what docs/releasing.md lists, and that ends this test.
func TestNothingIsReleasedBeforeTheSwitch(t *testing.T) {
	t.Parallel()
	_, _ = os.Stat(root + "/.git/refs/tags") // so that go test runs this again when there is a new tag
	tags, err := exec.CommandContext(t.Context(), "git", "--git-dir", root+"/.git", "tag", "--list", "v*").Output()
	if err != nil {
		t.Logf("there is no git here, or no repository, and so no tag: %v", err)
		return
	}
	if len(tags) > 0 {
		t.Errorf("these versions are tagged: %s. First do what docs/releasing.md lists under \"With the first tag\"; its last step deletes this test.",
			strings.Join(strings.Fields(string(tags)), ", "))
	}
}

// room is what an entry of PostgreSQL's indexes holds, in bytes.
const room = 2704

var (
	uniqueOf = regexp.MustCompile(`(?s)CREATE TABLE \{(\w+)\} \(.*?UNIQUE \(([^)]*)\)`)
	indexOf  = regexp.MustCompile(`CREATE INDEX \{index:\w+\} ON \{(\w+)\} \(([^)]*)\)`)
)

// Text that is in an index is bounded, so that what one database takes no other one refuses.
func TestIndexedTextHasABoundAndFits(t *testing.T) {
	t.Parallel()
	tables := map[string]*driver.Schema{}
	for _, s := range schemas() {
		tables[s.Name] = s
	}
	found := 0
	for _, path := range paths(t, "postgres") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range append(uniqueOf.FindAllStringSubmatch(string(text), -1), indexOf.FindAllStringSubmatch(string(text), -1)...) {
			found++
			table, size := match[1], 8
			for column := range strings.SplitSeq(match[2], ", ") {
				c := tables[table].Column(column)
				if c.Type == driver.Text && c.Max == 0 {
					t.Errorf("%s: text without a bound is in an index: %s (its field needs the option indexed)", table, column)
				}
				size += 8 + c.Max // with its length, and what aligns it
			}
			if size > room {
				t.Errorf("%s: an entry of the index on (%s) may have %d bytes, more than %d", table, match[2], size, room)
			}
		}
	}
	if found < 100 {
		t.Errorf("there are only %d indexes", found)
	}
}
