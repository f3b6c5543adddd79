package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

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
