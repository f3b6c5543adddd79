package pgx

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/internal/testlevel"
)

// The domains' own tests run on this adapter too: in a workspace of both modules, with
// the one place that opens a PostgreSQL for them opening it through pgx.
func TestDomains(t *testing.T) {
	testlevel.Need(t, testlevel.Check)
	packages := []string{"./internal/storytest"} // the domains together, on databases
	if testlevel.Has(t, testlevel.Nightly) {
		packages = []string{"./internal/storytest", "./automation/...", "./notify/...", "./survey/...", "."}
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	opens := filepath.Join(root, "internal/storetest/storetest.go")
	text, err := os.ReadFile(opens)
	if err != nil {
		t.Fatal(err)
	}
	const theirs, ours = `"github.com/belfry-go/belfry/storage/postgres"`, `postgres "github.com/belfry-go/belfry/storage/pgx"`
	if strings.Count(string(text), theirs) != 1 {
		t.Fatalf("%s does not import %s once", opens, theirs)
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	replaced := write("storetest.go", strings.Replace(string(text), theirs, ours, 1))
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{opens: replaced}})
	if err != nil {
		t.Fatal(err)
	}
	work := write("go.work", "go 1.26.0\n\nuse (\n\t"+root+"\n\t"+root+"/storage/pgx\n)\n")
	args := append([]string{"test", "-count", "1", "-timeout", "30m", "-overlay", write("overlay.json", string(overlay)), "-run", "/^postgres$"}, packages...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "GOWORK="+work, "GOFLAGS=-mod=readonly -buildvcs=false")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "ok") {
		t.Errorf("%v:\n%s", err, out)
	}
	t.Logf("%s", out)
}
