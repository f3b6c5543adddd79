package storagetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

var (
	blobTheme   = theme{name: "blobs", apart: true, sentences: blobSentences}
	folderTheme = theme{
		name:    "blobs in a folder",
		apart:   true,
		missing: func(h Harness) string { return h.NoFolder },
		options: func(t testing.TB) Options { return Options{BlobDir: t.TempDir()} },
		sentences: append(blobSentences[:len(blobSentences):len(blobSentences)],
			sentence{"a folder keeps contents out of the database", func(w *world) {
				w.blobs().put("x")
				w.same("chunk rows", w.blobs().chunks(), 0)
			}}),
	}
)

const day = 24 * time.Hour

var blobSentences = []sentence{
	{"a blob is what was put", func(w *world) {
		const chunk = 1 << 20
		for _, size := range []int{0, 1, chunk - 1, chunk, chunk + 1, 3*chunk + 5} {
			content := pattern(size)
			ref := w.blobs().put(content)
			sum := sha256.Sum256([]byte(content))
			w.same("ref", ref, driver.Ref{Name: ref.Name, Size: int64(size), SHA256: hex.EncodeToString(sum[:])})
			w.same(fmt.Sprintf("content of %d bytes", size), w.blobs().read(ref, 0) == content, true)
		}
	}},
	{"Open reads from offset on", func(w *world) {
		content := pattern(1<<20 + 100)
		ref := w.blobs().put(content)
		for _, offset := range []int{1, 1<<20 - 1, 1 << 20, 1<<20 + 1, len(content) - 1, len(content)} {
			w.same(fmt.Sprintf("content from %d on", offset), w.blobs().read(ref, int64(offset)) == content[offset:], true)
		}
		for _, offset := range []int64{-1, ref.Size + 1} {
			if _, err := w.store.Blobs().Open(w.ctx, ref, offset); err == nil {
				w.Errorf("offset %d is not an error", offset)
			}
		}
	}},
	{"a blob is read in pieces of any size", func(w *world) {
		ref := w.blobs().put(pattern(1000))
		r, err := w.store.Blobs().Open(w.ctx, ref, 0)
		w.is("Open", err, nil)
		defer r.Close()
		w.is("TestReader", iotest.TestReader(r, []byte(pattern(1000))), nil)
	}},
	{"Open of what is not there is ErrNotFound", func(w *world) {
		for _, name := range []string{"", strings.Repeat("0", 32), "../../etc/passwd", "a\x00", strings.Repeat("A", 32)} {
			_, err := w.store.Blobs().Open(w.ctx, driver.Ref{Name: name}, 0)
			w.is("Open "+name, err, driver.ErrNotFound)
		}
	}},
	{"names are generated", func(w *world) {
		one, two := w.blobs().put("x"), w.blobs().put("x")
		if one.Name == two.Name || one.IsZero() || strings.Trim(one.Name, "0123456789abcdef") != "" {
			w.Errorf("names are %q and %q", one.Name, two.Name)
		}
	}},
	{"an error of the reader is that of Put, and what was written is collected", func(w *world) {
		w.blobs().collected(0)
		half := io.MultiReader(strings.NewReader(pattern(2<<20)), iotest.ErrReader(errRefused))
		_, err := w.store.Blobs().Put(w.ctx, half)
		w.is("Put", err, errRefused)
		w.clock.Add(day)
		w.blobs().collected(1)
	}},
	{"a blob that nobody kept within a day is collected", func(w *world) {
		ref := w.blobs().put("x")
		w.clock.Add(day - time.Microsecond)
		w.blobs().collected(0)
		w.same("content", w.blobs().read(ref, 0), "x")
		w.clock.Add(time.Microsecond)
		w.blobs().collected(1)
		w.blobs().gone(ref)
		w.blobs().collected(0)
	}},
	{"a blob that was kept stays", func(w *world) {
		one, two := w.blobs().put("x"), w.blobs().put("y")
		w.tx(func(tx driver.Tx) error {
			return w.store.Blobs().Keep(w.ctx, tx, owner("1", one, driver.Ref{}, two, one))
		})
		w.tx(func(tx driver.Tx) error { return w.store.Blobs().Keep(w.ctx, tx, owner("1", two)) })
		w.clock.Add(10 * day)
		w.blobs().collected(0)
		w.same("content", w.blobs().read(one, 0)+w.blobs().read(two, 0), "xy")
	}},
	{"a blob that was kept until a moment is collected then, and no sooner", func(w *world) {
		one, two, three := w.blobs().put("x"), w.blobs().put("y"), w.blobs().put("z")
		until := func(days int, refs ...driver.Ref) {
			w.tx(func(tx driver.Tx) error {
				return w.store.Blobs().KeepUntil(w.ctx, tx, base.Add(time.Duration(days)*day), refs...)
			})
		}
		until(3, one, two)
		until(2, one, three)
		w.tx(func(tx driver.Tx) error { return w.store.Blobs().Keep(w.ctx, tx, owner("1", three)) })
		until(1, three)
		w.clock.Add(3*day - time.Microsecond)
		w.blobs().collected(0)
		w.clock.Add(time.Microsecond)
		w.blobs().collected(2)
		w.blobs().gone(one)
		w.same("kept for ever", w.blobs().read(three, 0), "z")
	}},
	{"a blob goes a day after the last of its owners", func(w *world) {
		one, two := w.blobs().put("x"), w.blobs().put("y")
		keep := func(owned ...driver.Owned) {
			w.tx(func(tx driver.Tx) error { return w.store.Blobs().Keep(w.ctx, tx, owned...) })
		}
		release := func(owned ...driver.Owned) {
			w.tx(func(tx driver.Tx) error { return driver.Release(w.ctx, tx, owned...) })
		}
		keep(owner("1", one, two), owner("2", two))
		w.same("owned by 1", w.blobs().owned("1"), 2)
		w.same("owned by 2", w.blobs().owned("2"), 1)
		w.same("owned by another", w.blobs().owned("3"), 0)
		release(owner("1", one, two), owner("1", one, driver.Ref{}), owner("3", driver.Ref{Name: "abc"}))
		w.same("owned by 1", w.blobs().owned("1"), 0)
		w.clock.Add(day - time.Microsecond)
		w.blobs().collected(0)
		w.clock.Add(time.Microsecond)
		w.blobs().collected(2) // one is gone, two is found to be owned
		w.blobs().gone(one)
		w.blobs().collected(0)
		w.same("owned by 2", w.blobs().read(two, 0), "y")
		release(owner("2", two))
		keep(owner("3", two)) // somebody names it before it goes
		w.clock.Add(2 * day)
		w.blobs().collected(0)
		release(owner("3", two))
		w.clock.Add(day)
		w.blobs().collected(1)
		w.blobs().gone(two)
	}},
	{"a blob that is kept until a moment stays that long without an owner", func(w *world) {
		ref := w.blobs().put("x")
		w.tx(func(tx driver.Tx) error {
			err := w.store.Blobs().KeepUntil(w.ctx, tx, base.Add(5*day), ref)
			return errors.Join(err, w.store.Blobs().Keep(w.ctx, tx, owner("1", ref)))
		})
		w.tx(func(tx driver.Tx) error { return driver.Release(w.ctx, tx, owner("1", ref)) })
		w.clock.Add(5*day - time.Microsecond)
		w.blobs().collected(0)
		w.clock.Add(time.Microsecond)
		w.blobs().collected(1)
	}},
	{"an owner has a scope, a table and a key", func(w *world) {
		ref := w.blobs().put("x")
		for _, bad := range []driver.Owned{{Key: "1"}, {Table: "letter"}, {Table: "letter", Key: "\x00"}, {Scope: "\xff", Table: "letter", Key: "1"}} {
			bad.Refs = []driver.Ref{ref}
			err := w.store.InTx(w.ctx, func(tx driver.Tx) error { return w.store.Blobs().Keep(w.ctx, tx, bad) })
			if err == nil {
				w.Errorf("%+v is not an error", bad)
			}
		}
	}},
	{"Keep belongs to the transaction that names the blob", func(w *world) {
		ref := w.blobs().put("x")
		err := w.store.InTx(w.ctx, func(tx driver.Tx) error {
			return errors.Join(w.store.Blobs().Keep(w.ctx, tx, owner("1", ref)), errRefused)
		})
		w.is("InTx", err, errRefused)
		w.clock.Add(day)
		w.blobs().collected(1)
	}},
	{"Keep of what is not there is ErrNotFound", func(w *world) {
		ref := w.blobs().put("x")
		w.is("Delete", w.store.Blobs().Delete(w.ctx, ref), nil)
		for _, bad := range []driver.Ref{ref, {Name: "../x"}, {Name: strings.Repeat("0", 32)}} {
			err := w.store.InTx(w.ctx, func(tx driver.Tx) error { return w.store.Blobs().Keep(w.ctx, tx, owner("1", bad)) })
			w.is("Keep", err, driver.ErrNotFound)
		}
	}},
	{"Delete removes a blob, kept or not, and one that is gone is not an error", func(w *world) {
		one, two := w.blobs().put(pattern(3<<20)), w.blobs().put("y")
		w.tx(func(tx driver.Tx) error { return w.store.Blobs().Keep(w.ctx, tx, owner("1", one)) })
		for range 2 {
			w.is("Delete", w.store.Blobs().Delete(w.ctx, one), nil)
		}
		w.blobs().gone(one)
		w.same("the other's content", w.blobs().read(two, 0), "y")
		w.is("Delete of no name", w.store.Blobs().Delete(w.ctx, driver.Ref{Name: "../x"}), nil)
		w.is("Delete", w.store.Blobs().Delete(w.ctx, two), nil)
		w.same("chunk rows", w.blobs().chunks(), 0)
	}},
	{"Collect removes at most limit blobs and tells how many", func(w *world) {
		for range 5 {
			w.blobs().put("x")
		}
		w.clock.Add(day)
		for _, want := range []int{2, 2, 1, 0} {
			n, err := w.store.Blobs().Collect(w.ctx, 2)
			w.is("Collect", err, nil)
			w.same("collected", n, want)
		}
		w.same("chunk rows", w.blobs().chunks(), 0)
	}},
	{"blobs go with any number of goroutines", func(w *world) {
		var group sync.WaitGroup
		for n := range 4 {
			group.Go(func() {
				content := pattern(n*300_000 + 7)
				ref := w.blobs().put(content)
				w.same("content", w.blobs().read(ref, 0) == content, true)
				w.is("Delete", w.store.Blobs().Delete(w.ctx, ref), nil)
			})
		}
		group.Wait()
		w.same("chunk rows", w.blobs().chunks(), 0)
	}},
	{"reading ends with its context", func(w *world) {
		ctx, end := context.WithCancel(w.ctx)
		end()
		_, err := w.store.Blobs().Open(ctx, w.blobs().put("x"), 0)
		w.is("Open", err, context.Canceled)
	}},
}

// patterned is text in which no two places look alike.
var patterned = sync.OnceValue(func() string {
	var b []byte
	for n := int64(0); len(b) < 4<<20; n++ {
		b = append(strconv.AppendInt(b, n, 36), ',')
	}
	return string(b)
})

// pattern is so many bytes of patterned.
func pattern(size int) string { return patterned()[:size] }

func (w blobs) put(content string) driver.Ref {
	w.Helper()
	ref, err := w.store.Blobs().Put(w.ctx, strings.NewReader(content))
	w.is("Put", err, nil)
	return ref
}

// owner is a row that owns blobs.
func owner(key string, refs ...driver.Ref) driver.Owned {
	return driver.Owned{Scope: "north", Table: "letter", Key: key, Refs: refs}
}

// owned is how many blobs the owner owns.
func (w blobs) owned(key string) (n int) {
	w.Helper()
	at := driver.ScopedKey{Scope: "north", Key: key}
	w.tx(func(tx driver.Tx) error {
		got, err := driver.OwnedBy(w.ctx, tx, "letter", at, driver.ScopedKey{Scope: "south", Key: key})
		n = len(got[at].Refs)
		if len(got) > 1 || n == 0 && len(got) > 0 {
			w.Errorf("owned are %+v", got)
		}
		return err
	})
	return n
}

func (w blobs) read(ref driver.Ref, offset int64) string {
	w.Helper()
	r, err := w.store.Blobs().Open(w.ctx, ref, offset)
	if err != nil {
		w.Errorf("Open: %v", err)
		return ""
	}
	content, err := io.ReadAll(r)
	w.is("read", errors.Join(err, r.Close()), nil)
	return string(content)
}

func (w blobs) gone(ref driver.Ref) {
	w.Helper()
	_, err := w.store.Blobs().Open(w.ctx, ref, 0)
	w.is("Open", err, driver.ErrNotFound)
}

// collected wants Collect to remove so many blobs.
func (w blobs) collected(want int) {
	w.Helper()
	n, err := w.store.Blobs().Collect(w.ctx, 100)
	w.is("Collect", err, nil)
	w.same("collected", n, want)
}

// chunks counts the pieces of contents in the database.
func (w blobs) chunks() (n int) {
	w.Helper()
	for _, s := range driver.Schemas() {
		if s.Name != "blob_chunk" {
			continue
		}
		w.tx(func(tx driver.Tx) (err error) {
			n, err = tx.Count(w.ctx, s, driver.Within(""), nil, 1000)
			return err
		})
	}
	return n
}
