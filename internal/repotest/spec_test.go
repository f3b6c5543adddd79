package repotest

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/specmap"
)

const specHead = `# Spec map

The rules of the five specification documents, in their order; of each one place in the code and one test. Printed from
[the list](../internal/repotest/testdata/spec.txt) and the anchors in the code (` + "`go test ./internal/repotest -update`; `grep -rn 'spec:.*a-017'`" + ` shows
all). Round brackets: not in the documents. *host*: its business; *none*: deliberately not there; *open*: not built yet.
[Decision 0009](decisions/0009-departures-from-the-specification.md) has the differences, spec.go of each domain the documents'
interface names.
`

// Every rule has code and a test that name it, and whatever names a rule names
// one of the list.
func TestThePageOfTheSpecificationIsPrintedFromItsAnchors(t *testing.T) {
	t.Parallel()
	rules, err := specmap.Rules(read(t, "internal/repotest/testdata/spec.txt"))
	if err != nil {
		t.Fatal(err)
	}
	anchors, err := specmap.Anchors(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range specmap.Check(rules, anchors) {
		t.Error(fault)
	}
	page := specHead + specmap.Page(rules, anchors)
	const name = "../../docs/spec-map.md"
	if *update {
		if err := os.WriteFile(name, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(page, read(t, "docs/spec-map.md")); diff != "" {
		t.Errorf("run `go test ./internal/repotest -update`:\n%s", diff)
	}
}
