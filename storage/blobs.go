package storage

import (
	"context"
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
	// Keep says, in the transaction of the row that names the blobs, that they
	// are referenced.
	Keep(ctx context.Context, tx Tx, refs ...Ref) error
	// KeepUntil is Keep for as long as until: then Collect removes them. It shortens
	// nothing that was said before.
	KeepUntil(ctx context.Context, tx Tx, until time.Time, refs ...Ref) error
	// Delete removes a blob; one that is gone is no error.
	Delete(ctx context.Context, ref Ref) error
	// Collect removes at most limit blobs that nobody kept within a day, or whose
	// time is over, and tells how many there were.
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
