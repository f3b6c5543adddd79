package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

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
