package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// process is a running child, which does not outlive this process.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// account is postgres for root, as whom no PostgreSQL runs.
func account() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err, gidErr)
}

// run starts a program that ends with this one.
func (c *cluster) run(name string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(name, args...), done: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = c.dir, c.log, c.log
	p.cmd.Env = append(os.Environ(), "PATH=/usr/bin:/bin:/usr/sbin:"+c.bin)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: c.as, Pdeathsig: syscall.SIGTERM}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the death signal is the thread's
		defer runtime.UnlockOSThread()
		defer close(p.done)
		err := p.cmd.Start()
		if started <- err; err == nil {
			_ = p.cmd.Wait() // how it ended is in the log
		}
	}()
	return p, <-started
}

// end stops a process, by force if it does not mind.
func (p *process) end() {
	if p == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	late := wall.Timer(20 * time.Second)
	defer late.Stop()
	select {
	case <-p.done:
	case <-late.C:
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
