package storage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

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
	header, err := b.begin(ctx)
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

func (b *blobStore) begin(ctx context.Context) (header *blobHeader, err error) {
	name := make([]byte, 16)
	if _, err := io.ReadFull(b.store.Rand(), name); err != nil {
		return nil, err
	}
	err = b.store.InTx(ctx, func(tx Tx) error {
		header = &blobHeader{Record: Record{
			Key:   hex.EncodeToString(name),
			DueOn: Now(b.store).Add(keepBlobsBy),
		}}
		inserted, err := blobHeaders.Insert(ctx, tx, header)
		if err == nil && !inserted[0] {
			err = errors.New("generated name exists; the source of randomness repeats itself")
		}
		return err
	})
	return header, err
}

// Open verifies what it can: the length, and the hash if it reads from the start
// to the end, where a difference is an error instead of io.EOF.
func (b *blobStore) Open(ctx context.Context, ref Ref, offset int64) (io.ReadCloser, error) {
	var header *blobHeader
	err := b.store.InTx(ctx, func(tx Tx) (err error) {
		header, err = blobByName(ctx, tx, ref)
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

func blobByName(ctx context.Context, tx Tx, ref Ref) (*blobHeader, error) {
	if !isBlobName(ref.Name) {
		return nil, ErrNotFound
	}
	return blobHeaders.Get(ctx, tx, "", ref.Name)
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
