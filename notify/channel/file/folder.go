package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"github.com/belfry-go/belfry/notify/channel"
)

// Mails are personal.
const (
	dirMode  = 0o700
	fileMode = 0o600
)

func fileName(id string) string { return id + ".eml" }

// put writes the file of a message unless it exists. A hard link is what gives it its
// name, since a rename would replace what another process has just put there.
func put(root *os.Root, id string, data []byte) (channel.Receipt, error) {
	receipt := channel.Receipt{ID: fileName(id)}
	found, err := has(root, receipt.ID)
	if err == nil && !found {
		err = create(root, id, data)
	}
	if err != nil {
		return channel.Receipt{}, refused(err)
	}
	if err := syncDir(root); err != nil {
		return channel.Receipt{}, channel.Unknown("sync", err)
	}
	return receipt, nil
}

func create(root *os.Root, id string, data []byte) error {
	temp, err := writeTemp(root, id, data)
	if err != nil {
		return err
	}
	err = root.Link(temp, fileName(id))
	_ = root.Remove(temp) // a temporary file that stays is harmless
	if errors.Is(err, fs.ErrExist) {
		_, err = has(root, fileName(id))
	}
	return err
}

// find is the look at the folder. The file is made durable before it is
// reported, since the writer may have died just before it did that.
func find(root *os.Root, id string) (channel.LookupResult, error) {
	found, err := has(root, fileName(id))
	switch {
	case err != nil:
		return channel.LookupResult{}, err
	case !found:
		return channel.LookupResult{Status: channel.LookupAbsent}, nil
	}
	if err := syncDir(root); err != nil {
		return channel.LookupResult{}, err
	}
	return channel.LookupResult{Status: channel.LookupAccepted, Receipt: channel.Receipt{ID: fileName(id)}}, nil
}

// has tells whether the folder has a mail of that name.
func has(root *os.Root, name string) (bool, error) {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("file: %s exists and is not a file", name)
	}
	return true, nil
}

// syncDir makes the names in the folder durable.
func syncDir(root *os.Root) error {
	if runtime.GOOS == "windows" {
		return nil // folders cannot be flushed there
	}
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// maxTemps bounds the temporary files of one message: one for each writer at
// work, and one for each that died.
const maxTemps = 1000

// writeTemp writes data to a file of its own that is on disk when it returns.
func writeTemp(root *os.Root, id string, data []byte) (string, error) {
	f, name, err := openTemp(root, id)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = root.Remove(name) // a temporary file that stays is harmless
		return "", err
	}
	return name, nil
}

func openTemp(root *os.Root, id string) (*os.File, string, error) {
	for n := range maxTemps {
		name := tempName(id, n)
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
		if !errors.Is(err, fs.ErrExist) {
			return f, name, err
		}
	}
	return nil, "", fmt.Errorf("file: %d temporary files of message %s are in the folder", maxTemps, id)
}

func tempName(id string, n int) string { return fmt.Sprintf(".%s.%d.tmp", id, n) }
