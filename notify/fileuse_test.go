package notify

import (
	"strings"
	"testing"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// A file that two messages have is there until the second call has ended, and no longer.
func TestFilesAreHeldWhileAMessageUsesThem(t *testing.T) {
	t.Parallel()
	blobs := memory.New(nil).Blobs()
	shared, err := blobs.Put(t.Context(), strings.NewReader("both"))
	if err != nil {
		t.Fatal(err)
	}
	gone, f := storage.Ref{Name: shared.Name + "x", Size: 4}, &files{}
	first, second := []storage.Ref{shared}, []storage.Ref{shared, gone}
	if err := f.load(t.Context(), blobs, first); err != nil {
		t.Fatal(err)
	}
	if err := f.load(t.Context(), blobs, second); err == nil {
		t.Error("a missing file is there")
	}
	f.drop(first)
	if got := string(f.get(shared.Name).data); got != "both" {
		t.Errorf("the second has %q", got)
	}
	f.drop(second)
	if len(f.byName) != 0 {
		t.Errorf("%d files are left", len(f.byName))
	}
}
