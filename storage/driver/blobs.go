package driver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"
)

// Blobs keeps payloads outside rows: campaign audiences, frozen renderings,
// traces. Names are generated, never user text. Methods may be called from any
// number of goroutines, not inside a transaction of the same store.
type Blobs interface {
	// Put stores everything r gives. The blob is complete when Put returns; it is
	// removed after a day unless Keep is called in the transaction that names it.
	Put(ctx context.Context, r io.Reader) (Ref, error)
	// Open reads a blob from offset on. ErrNotFound if there is none.
	Open(ctx context.Context, ref Ref, offset int64) (io.ReadCloser, error)
	// Keep says, in the transaction of the rows that name the blobs, who owns them. They
	// stay until they are deleted, or forgotten with the last of their owners; a row of
	// the host's own stays their owner until they are deleted.
	Keep(ctx context.Context, tx Tx, owned ...Owned) error
	// KeepUntil keeps blobs without an owner for as long as until: then Collect removes
	// them. It shortens nothing that was said before.
	KeepUntil(ctx context.Context, tx Tx, until time.Time, refs ...Ref) error
	// Delete removes a blob; one that is gone is not an error.
	Delete(ctx context.Context, ref Ref) error
	// Collect looks at at most limit blobs that were not kept within a day, or whose time
	// is over, or that lost an owner a day ago, and removes those without an owner. It
	// tells how many it removed or found an owner of.
	Collect(ctx context.Context, limit int) (int, error)
}

// Ref names a complete blob.
type Ref struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // lower-case hex of the content
}

// IsZero reports whether r names no blob.
func (r Ref) IsZero() bool { return r.Name == "" }

// blobHeader is the row of one blob; its key is the blob's name. DueOn is the
// moment at which it may be collected if it has no owner then, and zero once it is kept.
type blobHeader struct {
	Due
	Size     int64  `db:"size"`
	SHA256   string `db:"sha256,plain"`
	Complete bool   `db:"complete"`
	// KeptUntil is until when it stays, with or without owners.
	KeptUntil time.Time `db:"kept_until"`
}

// blobChunk is one piece of a blob's content; its key is made by chunkKey.
type blobChunk struct {
	Record
	Data []byte `db:"data,fixed,content"`
}

var (
	blobHeaders = Define[blobHeader]("blob").Grows(WithWork).
			Kept("as the row that names it", "a day, where none does")
	blobChunks = Define[blobChunk]("blob_chunk").Grows(WithWork).
			Kept("as its blob", "the content of a blob").
			Erased("with the row that names it")
)

const (
	chunkSize   = 1 << 20        // bytes of every chunk but the last
	keepBlobsBy = 24 * time.Hour // what was not kept by then is collected
)

// chunkKey sorts the chunks of a blob in order.
func chunkKey(name string, n int64) string { return fmt.Sprintf("%s/%08d", name, n) }

// chunksOf holds for all chunks of a blob; '0' is the character behind '/'.
func chunksOf(name string) []Cond {
	return []Cond{AtLeast("key", name+"/"), Less("key", name+"0")}
}

// blobStore is the one implementation of [Blobs]: a header row for each blob,
// and its content in chunk rows or in a folder.
type blobStore struct {
	store   Store
	content content
}

// content is where the bytes of blobs are. Names have been checked.
type content interface {
	write(ctx context.Context, name string, r io.Reader) (size int64, err error)
	// open reads from offset on; it may give fewer bytes than size only with an
	// error.
	open(ctx context.Context, name string, offset, size int64) (io.ReadCloser, error)
	// remove removes all of it, also the beginnings of an unfinished write.
	remove(ctx context.Context, name string) error
}

// NewBlobs returns the blobs of an adapter's store. Contents are rows of the
// same database, or files in dir, which is created if need be; headers are rows
// in both cases. It fails only if dir cannot be used.
func NewBlobs(store Store, dir string) (Blobs, error) {
	if dir == "" {
		return &blobStore{store, chunkContent{store}}, nil
	}
	folder, err := newFolderContent(dir)
	if err != nil {
		return nil, err
	}
	return &blobStore{store, folder}, nil
}

// Put writes the header, the content and the header again, so that whatever a
// crash leaves is found by Collect.
func (b *blobStore) Put(ctx context.Context, r io.Reader) (Ref, error) {
	name := make([]byte, 16)
	if _, err := io.ReadFull(b.store.Rand(), name); err != nil {
		return Ref{}, fmt.Errorf("storage: put blob: %w", err)
	}
	return b.put(ctx, hex.EncodeToString(name), r)
}

func (b *blobStore) put(ctx context.Context, name string, r io.Reader) (Ref, error) {
	header, err := b.begin(ctx, name)
	if err != nil {
		return Ref{}, fmt.Errorf("storage: put blob: %w", err)
	}
	sum := sha256.New()
	size, err := b.content.write(ctx, header.Key, io.TeeReader(r, sum))
	if err != nil {
		return Ref{}, fmt.Errorf("storage: put blob: %w", err)
	}
	ref := Ref{Name: header.Key, Size: size, SHA256: hex.EncodeToString(sum.Sum(nil))}
	err = b.store.InTx(ctx, func(tx Tx) error {
		done := *header
		done.Size, done.SHA256, done.Complete = ref.Size, ref.SHA256, true
		return blobHeaders.Save(ctx, tx, &done)
	})
	if err != nil {
		return Ref{}, fmt.Errorf("storage: put blob: %w", err)
	}
	return ref, nil
}

func (b *blobStore) begin(ctx context.Context, name string) (header *blobHeader, err error) {
	err = b.store.InTx(ctx, func(tx Tx) error {
		header = &blobHeader{Due: Due{
			Record: Record{Key: name},
			DueOn:  Now(b.store).Add(keepBlobsBy),
		}}
		inserted, err := blobHeaders.Insert(ctx, tx, header)
		if err == nil && !inserted[0] {
			err = errors.New("the name exists; the source of randomness repeats itself, or another copies it")
		}
		return err
	})
	return header, err
}

// Open verifies what it can: the length, and the hash if it reads from the start
// to the end, where a difference is an error instead of io.EOF.
func (b *blobStore) Open(ctx context.Context, ref Ref, offset int64) (io.ReadCloser, error) {
	var header *blobHeader
	err := b.store.View(ctx, func(from Reader) (err error) {
		header, err = blobByName(ctx, from, ref)
		return err
	})
	if err == nil && !header.Complete {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("storage: open blob: %w", err)
	}
	if offset < 0 || offset > header.Size {
		return nil, fmt.Errorf("storage: open blob: offset %d is outside its %d bytes", offset, header.Size)
	}
	body, err := b.content.open(ctx, header.Key, offset, header.Size)
	if err != nil {
		return nil, fmt.Errorf("storage: open blob: %w", err)
	}
	return newCheckedReader(body, header, offset), nil
}

func blobByName(ctx context.Context, from Reader, ref Ref) (*blobHeader, error) {
	if !isBlobName(ref.Name) {
		return nil, ErrNotFound
	}
	return blobHeaders.Get(ctx, from, "", ref.Name)
}

// isBlobName reports whether a name can have come from Put, and so be safe to
// look for.
func isBlobName(name string) bool {
	for _, c := range name {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// checkedReader compares a content with its header at the end.
type checkedReader struct {
	io.ReadCloser
	header *blobHeader
	left   int64     // bytes until the end
	sum    hash.Hash // nil when the reading began behind the start
}

func newCheckedReader(body io.ReadCloser, header *blobHeader, offset int64) *checkedReader {
	r := &checkedReader{ReadCloser: body, header: header, left: header.Size - offset}
	if offset == 0 {
		r.sum = sha256.New()
	}
	return r
}

func (r *checkedReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.left -= int64(n)
	if r.sum != nil {
		r.sum.Write(p[:n])
	}
	if err == io.EOF && !r.intact() {
		return 0, fmt.Errorf("storage: read blob: the content is not what was put: %w", io.ErrUnexpectedEOF)
	}
	return n, err
}

func (r *checkedReader) intact() bool {
	return r.left == 0 && (r.sum == nil || hex.EncodeToString(r.sum.Sum(nil)) == r.header.SHA256)
}

// wantedBlobs returns the headers of all refs, each once.
func wantedBlobs(ctx context.Context, tx Tx, refs []Ref) ([]*blobHeader, error) {
	wanted := map[string]bool{}
	var names []string
	for _, r := range refs {
		switch {
		case r.IsZero() || wanted[r.Name]:
			continue
		case !isBlobName(r.Name):
			return nil, ErrNotFound
		}
		wanted[r.Name] = true
		names = append(names, r.Name)
	}
	if len(names) == 0 {
		return nil, nil
	}
	headers, err := blobHeaders.Find(ctx, tx, "", Query{Where: []Cond{In("key", names), Eq("complete", true)}, Limit: len(names)})
	if err == nil && len(headers) < len(names) {
		err = ErrNotFound
	}
	return headers, err
}

// Delete removes a blob, kept or not.
func (b *blobStore) Delete(ctx context.Context, ref Ref) error {
	for range 3 {
		var header *blobHeader
		err := b.store.View(ctx, func(from Reader) (err error) {
			header, err = blobByName(ctx, from, ref)
			return err
		})
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		removed := false
		if err == nil {
			removed, err = b.remove(ctx, header, false)
		}
		if err != nil {
			return fmt.Errorf("storage: delete blob: %w", err)
		}
		if removed {
			return nil
		}
	}
	return fmt.Errorf("storage: delete blob: written by others meanwhile: %w", ErrBusy)
}

// Collect may run in any number of processes; each blob counts once.
func (b *blobStore) Collect(ctx context.Context, limit int) (int, error) {
	var headers []*blobHeader
	err := b.store.View(ctx, func(from Reader) (err error) {
		headers, err = blobHeaders.Find(ctx, from, "", Query{
			Where:   []Cond{Eq("lane", LaneNormal), AtMost("due_on", Now(b.store))},
			OrderBy: "due_on",
			Limit:   limit,
		})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("storage: collect blobs: %w", err)
	}
	collected := 0
	for _, h := range headers {
		done, err := b.remove(ctx, h, true)
		if err != nil {
			return collected, fmt.Errorf("storage: collect blobs: %w", err)
		}
		if done {
			collected++
		}
	}
	return collected, nil
}

// remove takes a blob away unless its header was written since it was read; or, if it
// spares what is owned and it has an owner, it leaves it alone from now on.
// The header goes first out of sight and last for good, so that Collect finds
// what a crash in between leaves.
func (b *blobStore) remove(ctx context.Context, header *blobHeader, spare bool) (done bool, err error) {
	var marked blobHeader
	owned := false
	err = b.store.InTx(ctx, func(tx Tx) error {
		marked = *header
		if spare && header.Complete {
			n, err := blobOwners.Count(ctx, tx, "", 1, ownersOf(header.Key)...)
			if owned = n > 0; err != nil {
				return err
			}
		}
		if owned {
			marked.DueOn = time.Time{}
		} else {
			marked.Complete, marked.DueOn = false, Now(b.store)
		}
		return blobHeaders.Save(ctx, tx, &marked)
	})
	if err == nil && !owned {
		err = b.removeMarked(ctx, &marked)
	}
	if errors.Is(err, ErrStale) {
		return false, nil
	}
	return err == nil, err
}

// removeMarked removes content, owners and header of a blob that cannot be kept any more.
func (b *blobStore) removeMarked(ctx context.Context, marked *blobHeader) error {
	if err := b.content.remove(ctx, marked.Key); err != nil {
		return err
	}
	for left := ownersPage; left == ownersPage; {
		err := b.store.InTx(ctx, func(tx Tx) error {
			owners, err := blobOwners.Find(ctx, tx, "", Query{Where: ownersOf(marked.Key), Limit: ownersPage})
			if err != nil {
				return err
			}
			left = len(owners)
			if err := blobOwners.Delete(ctx, tx, owners...); err != nil || left == ownersPage {
				return err
			}
			return blobHeaders.Delete(ctx, tx, marked)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
