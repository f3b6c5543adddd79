package storage_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// shelf is a store whose blobs are kept in a folder.
type shelf struct {
	*memory.Store
	storage.Blobs
	dir   string
	clock *clock.Mock
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{dir: filepath.Join(t.TempDir(), "made", "on", "demand"), clock: clock.NewMock()}
	s.Store = memory.New(&memory.Options{Clock: s.clock})
	blobs, err := storage.NewBlobs(s.Store, s.dir)
	if err != nil {
		t.Fatal(err)
	}
	s.Blobs = blobs
	return s
}

func (s *shelf) put(t *testing.T, content string) storage.Ref {
	t.Helper()
	ref, err := s.Put(t.Context(), strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// readAll opens a blob and reads it.
func readAll(ctx context.Context, b storage.Blobs, ref storage.Ref, offset int64) (string, error) {
	r, err := b.Open(ctx, ref, offset)
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(r)
	return string(content), errors.Join(err, r.Close())
}

func TestAFolderKeepsOneFilePerBlob(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	ref := s.put(t, "content")
	content, err := os.ReadFile(filepath.Join(s.dir, ref.Name))
	if err != nil || string(content) != "content" {
		t.Errorf("file holds %q; %v", content, err)
	}
	if err := s.Delete(t.Context(), ref); err != nil {
		t.Error(err)
	}
	if files, err := os.ReadDir(s.dir); err != nil || len(files) != 0 {
		t.Errorf("%d files are left; %v", len(files), err)
	}
}

func TestAChangedContentIsAnError(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	for name, damaged := range map[string]string{"changed": "contenT", "cut off": "cont", "longer": "content and more", "empty": ""} {
		ref := s.put(t, "content")
		if err := os.WriteFile(filepath.Join(s.dir, ref.Name), []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readAll(t.Context(), s, ref, 0); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

func TestAPartIsCheckedForItsLengthOnly(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	ref := s.put(t, "content")
	if err := os.WriteFile(filepath.Join(s.dir, ref.Name), []byte("cont"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(t.Context(), s, ref, 2); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error is %v", err)
	}
}

func TestAMissingFileIsErrNotFound(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	ref := s.put(t, "content")
	if err := os.Remove(filepath.Join(s.dir, ref.Name)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(t.Context(), ref, 0); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("error is %v", err)
	}
	if err := s.Delete(t.Context(), ref); err != nil {
		t.Errorf("Delete: %v", err)
	}
}

func TestNoLinkLeadsOutOfTheFolder(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	ref := s.put(t, "content")
	path := filepath.Join(s.dir, ref.Name)
	if err := errors.Join(os.Remove(path), os.Symlink(secret, path)); err != nil {
		t.Fatal(err)
	}
	if content, err := readAll(t.Context(), s, ref, 0); err == nil {
		t.Errorf("read %q through a link", content)
	}
}

func TestAFolderThatCannotBeOneIsRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := storage.NewBlobs(memory.New(nil), file)
	if err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("error is %v", err)
	}
}

func TestAnInterruptedUploadLeavesNothingInTheEnd(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	_, err := s.Put(t.Context(), io.MultiReader(strings.NewReader("half"), iotest.ErrReader(io.ErrClosedPipe)))
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error is %v", err)
	}
	s.clock.Add(24 * time.Hour)
	if n, err := s.Collect(t.Context(), 10); n != 1 || err != nil {
		t.Errorf("collected %d; %v", n, err)
	}
	if files, err := os.ReadDir(s.dir); err != nil || len(files) != 0 {
		t.Errorf("%d files are left; %v", len(files), err)
	}
}

func TestAnInterruptedRemovalIsFinishedByCollect(t *testing.T) {
	t.Parallel()
	store := &breaking{Store: memory.New(nil)}
	blobs, err := storage.NewBlobs(store, "")
	if err != nil {
		t.Fatal(err)
	}
	ref, err := blobs.Put(t.Context(), bytes.NewReader(make([]byte, 20<<20)))
	if err != nil {
		t.Fatal(err)
	}
	store.left = 4 // find, mark, one batch of chunks, then no more
	if err := blobs.Delete(t.Context(), ref); !errors.Is(err, errBroken) {
		t.Errorf("error is %v", err)
	}
	store.left = 1000
	if _, err := blobs.Open(t.Context(), ref, 0); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("Open: %v", err)
	}
	if n, err := blobs.Collect(t.Context(), 10); n != 1 || err != nil {
		t.Errorf("collected %d; %v", n, err)
	}
	for _, s := range storage.Schemas() {
		inStore(t, store, func(tx storage.Tx) error {
			n, err := tx.Count(t.Context(), s, "", nil, 10)
			if n != 0 {
				t.Errorf("%d rows are left in %s", n, s.Name)
			}
			return err
		})
	}
}

func TestAChunkThatIsGoneIsNotTheEnd(t *testing.T) {
	t.Parallel()
	store := memory.New(nil)
	ref, err := store.Blobs().Put(t.Context(), bytes.NewReader(make([]byte, 3<<20)))
	if err != nil {
		t.Fatal(err)
	}
	chunks := storage.Schemas()[1]
	inStore(t, store, func(tx storage.Tx) error {
		rows, err := tx.Select(t.Context(), chunks, "", storage.Query{OrderBy: "key", Limit: 10})
		if err != nil {
			return err
		}
		_, err = tx.Delete(t.Context(), chunks, rows[1:2])
		return err
	})
	if _, err := readAll(t.Context(), store.Blobs(), ref, 0); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("error is %v", err)
	}
}

func TestKeepRefusesATransactionOfAnotherStore(t *testing.T) {
	t.Parallel()
	one, other := memory.New(nil), memory.New(nil)
	ref, err := one.Blobs().Put(t.Context(), strings.NewReader("content"))
	if err != nil {
		t.Fatal(err)
	}
	inStore(t, other, func(tx storage.Tx) error {
		if err := one.Blobs().Keep(t.Context(), tx, ref); err == nil {
			t.Error("there is no error")
		}
		return nil
	})
}

func TestPutFailsWithoutRandomness(t *testing.T) {
	t.Parallel()
	store := memory.New(&memory.Options{Rand: iotest.ErrReader(errBroken)})
	if _, err := store.Blobs().Put(t.Context(), strings.NewReader("x")); !errors.Is(err, errBroken) {
		t.Errorf("error is %v", err)
	}
	store = memory.New(&memory.Options{Rand: zeros{}})
	if _, err := store.Blobs().Put(t.Context(), strings.NewReader("x")); err != nil {
		t.Error(err)
	}
	if _, err := store.Blobs().Put(t.Context(), strings.NewReader("y")); err == nil {
		t.Error("a name was given twice")
	}
}

// zeros is the worst source of randomness.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

var errBroken = errors.New("broken")

// breaking is a store that fails after so many transactions; zero: never.
type breaking struct {
	*memory.Store
	left int
}

func (b *breaking) InTx(ctx context.Context, f func(storage.Tx) error) error {
	if b.left == 1 {
		return errBroken
	}
	b.left--
	return b.Store.InTx(ctx, f)
}

func inStore(t *testing.T, store storage.Store, f func(tx storage.Tx) error) {
	t.Helper()
	if err := store.InTx(t.Context(), f); err != nil {
		t.Error(err)
	}
}
