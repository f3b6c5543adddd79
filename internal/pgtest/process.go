package pgtest

import (
	"os/exec"
	"runtime"
	"syscall"
)

// process is a running child, which does not outlive this process.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// launch starts cmd as the given account. The death signal is what ends it if
// this process ends first.
func launch(cmd *exec.Cmd, as *account, death syscall.Signal) (*process, error) {
	tie(cmd, as, death)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The death signal belongs to the thread, not to the process: this one
		// must live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
		}
	}()
	return p, <-started
}

// end sends a signal and waits for the end.
func (p *process) end(signal syscall.Signal) {
	_ = p.cmd.Process.Signal(signal) // fails only where it has ended already
	<-p.done
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}
