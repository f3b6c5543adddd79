package driver_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// owner is a row that names blobs.
func owner(refs ...driver.Ref) driver.Owned {
	return driver.Owned{Scope: "north", Table: "letter", Key: "1", Refs: refs}
}

// readAll opens a blob and reads it.
func readAll(ctx context.Context, b driver.Blobs, ref driver.Ref, offset int64) (string, error) {
	r, err := b.Open(ctx, ref, offset)
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(r)
	return string(content), errors.Join(err, r.Close())
}

func TestAnInterruptedRemovalIsFinishedByCollect(t *testing.T) {
	t.Parallel()
	store := &breaking{Store: memory.New(nil)}
	blobs, err := driver.NewBlobs(store, "")
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
	if _, err := blobs.Open(t.Context(), ref, 0); !errors.Is(err, driver.ErrNotFound) {
		t.Errorf("Open: %v", err)
	}
	err = store.Store.InTx(t.Context(), func(tx driver.Tx) error { return store.Store.Blobs().Keep(t.Context(), tx, owner(ref)) })
	if !errors.Is(err, driver.ErrNotFound) {
		t.Errorf("Keep: %v", err)
	}
	if n, err := blobs.Collect(t.Context(), 10); n != 1 || err != nil {
		t.Errorf("collected %d; %v", n, err)
	}
	for _, s := range driver.Schemas() {
		inStore(t, store, func(tx driver.Tx) error {
			n, err := tx.Count(t.Context(), s, driver.Within(""), nil, 10)
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
	chunks := driver.Schemas()[1]
	inStore(t, store, func(tx driver.Tx) error {
		rows, err := tx.Select(t.Context(), chunks, driver.Within(""), driver.Query{OrderBy: "key", Limit: 10})
		if err != nil {
			return err
		}
		_, err = tx.Delete(t.Context(), chunks, rows[1:2])
		return err
	})
	if _, err := readAll(t.Context(), store.Blobs(), ref, 0); !errors.Is(err, driver.ErrNotFound) {
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
	inStore(t, other, func(tx driver.Tx) error {
		err := one.Blobs().Keep(t.Context(), tx, owner(ref))
		if err == nil || !strings.Contains(err.Error(), "belongs to another store") {
			t.Errorf("error is %v", err)
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
	_, err := store.Blobs().Put(t.Context(), strings.NewReader("y"))
	if err == nil || !strings.Contains(err.Error(), "source of randomness repeats itself") {
		t.Errorf("error is %v", err)
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

func (b *breaking) InTx(ctx context.Context, f func(driver.Tx) error) error {
	if b.left == 1 {
		return errBroken
	}
	b.left--
	return b.Store.InTx(ctx, f)
}

func inStore(t *testing.T, store driver.Store, f func(tx driver.Tx) error) {
	t.Helper()
	if err := store.InTx(t.Context(), f); err != nil {
		t.Error(err)
	}
}

func TestAChunkThatIsCutOffIsNotTheEnd(t *testing.T) {
	t.Parallel()
	store := memory.New(nil)
	ref, err := store.Blobs().Put(t.Context(), bytes.NewReader(make([]byte, 3<<20)))
	if err != nil {
		t.Fatal(err)
	}
	chunks := driver.Schemas()[1]
	inStore(t, store, func(tx driver.Tx) error {
		rows, err := tx.Select(t.Context(), chunks, driver.Within(""), driver.Query{OrderBy: "key", Limit: 10})
		if err != nil {
			return err
		}
		_, removed := tx.Delete(t.Context(), chunks, rows[1:2])
		cut := chunks.Column("data").Set(rows[1], []byte("x"))
		_, inserted := tx.Insert(t.Context(), chunks, rows[1:2])
		return errors.Join(removed, cut, inserted)
	})
	if _, err := readAll(t.Context(), store.Blobs(), ref, 0); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error is %v", err)
	}
}

// hooked runs a function before a transaction, once.
type hooked struct {
	*memory.Store
	calls int
	hook  map[int]func() // by the number of the transaction
}

func (h *hooked) InTx(ctx context.Context, f func(driver.Tx) error) error {
	h.calls++
	if hook := h.hook[h.calls]; hook != nil {
		hook()
	}
	return h.Store.InTx(ctx, f)
}

func TestABlobIsCollectedByOneOfTwo(t *testing.T) {
	t.Parallel()
	mock := clock.NewMock()
	store := &hooked{Store: memory.New(&memory.Options{Clock: mock})}
	blobs, err := driver.NewBlobs(store, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{2, 3, 4} { // before the mark, before the chunks, before the header goes
		if _, err := store.Store.Blobs().Put(t.Context(), strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
		mock.Add(24 * time.Hour)
		theirs := 0
		store.calls, store.hook = 0, map[int]func(){at: func() {
			if theirs, err = store.Store.Blobs().Collect(t.Context(), 10); err != nil {
				t.Error(err)
			}
		}}
		ours, err := blobs.Collect(t.Context(), 10)
		if ours+theirs != 1 || err != nil {
			t.Errorf("hook %d: collected %d and %d; %v", at, ours, theirs, err)
		}
	}
}

func TestKeepGoesOnWhenAnotherKeptTheSameBlob(t *testing.T) {
	t.Parallel()
	ctx, store := t.Context(), memory.New(nil)
	ref, err := store.Blobs().Put(ctx, strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	headers := driver.Schemas()[0]
	inStore(t, store, func(tx driver.Tx) error {
		x := &interfering{Tx: tx, beforeUpdate: func() {
			if err := store.Blobs().Keep(ctx, tx, owner(ref)); err != nil {
				t.Error(err)
			}
		}}
		if err := store.Blobs().Keep(ctx, x, owner(ref)); err != nil {
			return err
		}
		rows, err := tx.Select(ctx, headers, driver.Within(""), driver.Query{Limit: 1})
		if err == nil && driver.RecordOf(rows[0]).Version != 3 { // inserted, completed, kept once
			t.Errorf("header has version %d", driver.RecordOf(rows[0]).Version)
		}
		return err
	})
}
