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

// lock never succeeds here, so that no process takes a directory in use for an abandoned
// one.
func lock(*os.File) error { return errors.ErrUnsupported }

// signalGroup sends a signal to the command alone: here it is in our own group, which
// a terminal's Ctrl-C reaches.
func signalGroup(cmd *exec.Cmd, signal syscall.Signal) {
	_ = cmd.Process.Signal(signal)
}
