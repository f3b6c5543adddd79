package driver_test

import (
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

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// shelf is a store whose blobs are kept in a folder.
type shelf struct {
	*memory.Store
	driver.Blobs
	dir   string
	clock *clock.Mock
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{dir: filepath.Join(t.TempDir(), "made", "on", "demand"), clock: clock.NewMock()}
	s.Store = memory.New(&memory.Options{Clock: s.clock})
	blobs, err := driver.NewBlobs(s.Store, s.dir)
	if err != nil {
		t.Fatal(err)
	}
	s.Blobs = blobs
	return s
}

func (s *shelf) put(t *testing.T, content string) driver.Ref {
	t.Helper()
	ref, err := s.Put(t.Context(), strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return ref
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
	content, err := readAll(t.Context(), s, ref, 3)
	if content != "tent" || err != nil {
		t.Errorf("read %q; %v", content, err)
	}
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
	if _, err := s.Open(t.Context(), ref, 0); !errors.Is(err, driver.ErrNotFound) {
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
	_, err := driver.NewBlobs(memory.New(nil), file)
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

// endless gives bytes for ever, and ends its context after a while.
type endless struct {
	end   context.CancelFunc
	reads int
}

func (e *endless) Read(p []byte) (int, error) {
	e.reads++
	switch {
	case e.reads == 3:
		e.end()
	case e.reads > 100:
		return 0, errors.New("read after the end of the context")
	}
	return len(p), nil
}

func TestAnUploadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	for name, blobs := range map[string]driver.Blobs{"folder": s, "database": s.Store.Blobs()} {
		ctx, end := context.WithCancel(t.Context())
		if _, err := blobs.Put(ctx, &endless{end: end}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}
