package file

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/belfry-go/belfry/notify"
)

// refused is the error of a file that was not written. Whatever the reason, it
// is not the message's: disks are emptied and rights are given.
func refused(err error) error {
	code := "file"
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		code = "disk-full"
	case errors.Is(err, fs.ErrPermission):
		code = "permission"
	}
	return notify.Transient(code, 0, err)
}
