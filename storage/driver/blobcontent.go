package driver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// chunkContent keeps contents in rows of at most chunkSize bytes, each written
// and read in a transaction of its own.
type chunkContent struct{ store Store }

func (c chunkContent) write(ctx context.Context, name string, r io.Reader) (size int64, err error) {
	var buf bytes.Buffer
	for n := int64(0); ; n++ {
		buf.Reset()
		got, err := io.CopyN(&buf, r, chunkSize)
		if err != nil && err != io.EOF {
			return size, err
		}
		if got > 0 {
			if err := c.insert(ctx, chunkKey(name, n), buf.Bytes()); err != nil {
				return size, err
			}
		}
		size += got
		if got < chunkSize {
			return size, nil
		}
	}
}

func (c chunkContent) insert(ctx context.Context, key string, data []byte) error {
	return c.store.InTx(ctx, func(tx Tx) error {
		_, err := blobChunks.Insert(ctx, tx, &blobChunk{Record: Record{Key: key}, Data: data})
		return err
	})
}

func (c chunkContent) open(ctx context.Context, name string, offset, size int64) (io.ReadCloser, error) {
	return &chunkReader{ctx: ctx, store: c.store, name: name, pos: offset, size: size}, nil
}

// remove loads what it deletes, a few chunks at a time.
func (c chunkContent) remove(ctx context.Context, name string) error {
	const batch = 8
	for left := batch; left == batch; {
		err := c.store.InTx(ctx, func(tx Tx) error {
			chunks, err := blobChunks.Find(ctx, tx, "", Query{Where: chunksOf(name), Limit: batch})
			if err != nil {
				return err
			}
			left = len(chunks)
			return blobChunks.Delete(ctx, tx, chunks...)
		})
		if err != nil && !errors.Is(err, ErrStale) { // stale: another remove has it
			return err
		}
	}
	return nil
}

// chunkReader holds one chunk at a time, and no transaction between reads.
type chunkReader struct {
	ctx       context.Context
	store     Store
	name      string
	pos, size int64
	rest      []byte // of the present chunk, from pos on
}

func (r *chunkReader) Read(p []byte) (int, error) {
	if r.pos == r.size {
		return 0, io.EOF
	}
	if len(r.rest) == 0 {
		if err := r.load(); err != nil {
			return 0, fmt.Errorf("storage: read blob: %w", err)
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	r.pos += int64(n)
	return n, nil
}

func (r *chunkReader) load() error {
	return r.store.View(r.ctx, func(from Reader) error {
		chunk, err := blobChunks.Get(r.ctx, from, "", chunkKey(r.name, r.pos/chunkSize))
		if err != nil {
			return err
		}
		skip := r.pos % chunkSize
		if int64(len(chunk.Data)) <= skip {
			return io.ErrUnexpectedEOF
		}
		r.rest = chunk.Data[skip:]
		return nil
	})
}

func (r *chunkReader) Close() error { return nil }

// folderContent keeps each content in a file of its name. It goes through
// os.Root, so that no name and no symbolic link leads out of the folder.
type folderContent struct{ dir string }

func newFolderContent(dir string) (folderContent, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return folderContent{}, fmt.Errorf("storage: folder for blobs: %w", err)
	}
	f := folderContent{dir}
	return f, f.within(func(*os.Root) error { return nil })
}

func (f folderContent) within(do func(*os.Root) error) error {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return fmt.Errorf("storage: folder for blobs: %w", err)
	}
	defer root.Close()
	return do(root)
}

func (f folderContent) write(ctx context.Context, name string, r io.Reader) (size int64, err error) {
	err = f.within(func(root *os.Root) error {
		file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		size, err = io.Copy(file, contextReader{ctx, r})
		if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
			return err
		}
		return syncFolder(root)
	})
	return size, err
}

// syncFolder makes the entry of a new file durable.
func syncFolder(root *os.Root) error {
	folder, err := root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

func (f folderContent) open(_ context.Context, name string, offset, _ int64) (body io.ReadCloser, err error) {
	err = f.within(func(root *os.Root) error {
		file, err := root.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: no file for it in the folder", ErrNotFound)
		}
		if err != nil {
			return err
		}
		if _, err := file.Seek(offset, io.SeekStart); err != nil {
			return errors.Join(err, file.Close())
		}
		body = file
		return nil
	})
	return body, err
}

func (f folderContent) remove(_ context.Context, name string) error {
	return f.within(func(root *os.Root) error {
		err := root.Remove(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// contextReader ends with its context.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
