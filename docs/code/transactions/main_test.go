package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// What docs/drivers.md shows is compiled, and run on real databases.
func TestEachWaySavesBothOrNeither(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), pgtest.DSN(t), filepath.Join(t.TempDir(), "host.db"), &out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), ": both or neither, and one mail\n"); n != len(ways) || n != 7 {
		t.Errorf("%d ways:\n%s", n, &out)
	}
}
