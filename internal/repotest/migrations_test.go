package repotest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Both dialects have the same history: the same files, numbered from 1 without a gap.
func TestBothDialectsHaveTheSameMigrations(t *testing.T) {
	t.Parallel()
	files := map[string][]string{}
	for _, dialect := range []string{"postgres", "sqlite"} {
		paths, err := filepath.Glob(root + "/storage/" + dialect + "/migrations/*.sql")
		if err != nil || len(paths) == 0 {
			t.Fatal(dialect, "has no migrations", err)
		}
		for i, path := range paths {
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
