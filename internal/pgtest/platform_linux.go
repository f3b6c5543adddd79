package pgtest

import (
	"os"
	"os/exec"
	"syscall"
)

// tie makes the kernel send the child death when the thread that starts it
// ends, and keeps the terminal's Ctrl-C from it.
func tie(cmd *exec.Cmd, as *account, death syscall.Signal) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: death, Setpgid: true}
	if as != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: as.uid, Gid: as.gid}
	}
}

// lock takes the lock on f that ends with this process, unless another has it.
func lock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// signalGroup sends a signal to a command of tie and to what it has started.
func signalGroup(cmd *exec.Cmd, signal syscall.Signal) {
	_ = syscall.Kill(-cmd.Process.Pid, signal) // fails only where all have ended already
}
