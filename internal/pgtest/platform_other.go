//go:build !linux

package pgtest

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// tie does nothing here: a test process that is killed leaves its server
// running, and root cannot run one.
func tie(*exec.Cmd, *account, syscall.Signal) {}

// lock never succeeds here, so that nobody takes a directory in use for an
// abandoned one.
func lock(*os.File) error { return errors.ErrUnsupported }
