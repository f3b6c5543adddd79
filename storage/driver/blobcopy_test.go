package driver_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// The blobs of a tenant go to another store under their names, with their owners. Those of
// other tenants stay.
func TestTheBlobsOfATenantAreCopied(t *testing.T) {
	t.Parallel()
	from, to := memory.New(nil), memory.New(nil)
	ours, theirs := putOwned(t, from, "north"), putOwned(t, from, "south")
	for _, want := range []int{1, 0} { // it may be repeated
		if n, err := driver.CopyOwned(t.Context(), from, to, "north"); n != want || err != nil {
			t.Errorf("copied %d, want %d; %v", n, want, err)
		}
	}
	if content, err := readAll(t.Context(), to.Blobs(), ours, 0); content != "content of north" || err != nil {
		t.Errorf("read %q; %v", content, err)
	}
	if _, err := to.Blobs().Open(t.Context(), theirs, 0); !errors.Is(err, driver.ErrNotFound) {
		t.Errorf("the blob of another tenant: %v", err)
	}
	inStore(t, to, func(tx driver.Tx) error {
		owned, err := driver.OwnedBy(t.Context(), tx, "letter", driver.ScopedKey{Scope: "north", Key: "1"})
		if len(owned) != 1 {
			t.Errorf("owners in the new store: %v", owned)
		}
		return err
	})
}

// What was cut off while it was copied is copied again.
func TestABlobThatWasCutOffIsCopiedAgain(t *testing.T) {
	t.Parallel()
	from, to := memory.New(nil), &breaking{Store: memory.New(nil)}
	ref, err := from.Blobs().Put(t.Context(), bytes.NewReader(make([]byte, 3<<20)))
	if err != nil {
		t.Fatal(err)
	}
	for left := 1; ; left++ {
		to.left = left
		err := driver.CopyBlob(t.Context(), from, cutOff{to}, ref.Name)
		if err == nil {
			break
		}
		if !errors.Is(err, errBroken) || left > 100 {
			t.Fatal(err)
		}
	}
	content, err := readAll(t.Context(), to.Store.Blobs(), ref, 0)
	if len(content) != 3<<20 || err != nil {
		t.Errorf("read %d bytes; %v", len(content), err)
	}
}

// cutOff has blobs whose transactions break.
type cutOff struct{ *breaking }

func (c cutOff) Blobs() driver.Blobs {
	b, err := driver.NewBlobs(c.breaking, "")
	if err != nil {
		panic(err)
	}
	return b
}

// What the old store owns no more is released in the new one.
func TestBlobsWithoutAnOwnerAreReleased(t *testing.T) {
	t.Parallel()
	from, to := memory.New(nil), memory.New(nil)
	putOwned(t, from, "north")
	if _, err := driver.CopyOwned(t.Context(), from, to, "north"); err != nil {
		t.Fatal(err)
	}
	if n, err := driver.DropOwned(t.Context(), to, from, "north"); n != 0 || err != nil {
		t.Errorf("dropped %d; %v", n, err)
	}
	if n, err := driver.DropOwned(t.Context(), to, nil, "north"); n != 1 || err != nil {
		t.Errorf("dropped %d; %v", n, err)
	}
}

func putOwned(t *testing.T, store driver.Store, scope driver.Scope) driver.Ref {
	t.Helper()
	ref, err := store.Blobs().Put(t.Context(), strings.NewReader("content of "+string(scope)))
	if err != nil {
		t.Fatal(err)
	}
	inStore(t, store, func(tx driver.Tx) error {
		return store.Blobs().Keep(t.Context(), tx, driver.Owned{Scope: scope, Table: "letter", Key: "1", Refs: []driver.Ref{ref}})
	})
	return ref
}
