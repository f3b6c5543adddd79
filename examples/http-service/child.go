package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// replica is this program again, in a process of its own.
type replica struct {
	name, url string
	cmd       *exec.Cmd
	w         io.Writer
}

// start returns when the replica listens.
func start(ctx context.Context, s settings, name string, w io.Writer) (*replica, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, exe, "-dsn", s.dsn, "-addr", "127.0.0.1:0", "-token", s.token, "-mailer", s.mailer, "-name", name)
	cmd.Env, cmd.Stderr = append(os.Environ(), childEnv+"=1"), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if addr, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			fmt.Fprintf(w, "  %s is up\n", name)
			return &replica{name: name, url: "http://" + addr, cmd: cmd, w: w}, nil
		}
	}
	return nil, fmt.Errorf("%s did not start: %w", name, cmd.Wait())
}

// childEnv tells a test binary that it is to be the program.
const childEnv = "HTTP_SERVICE_CHILD"

// stop asks the replica to end, as an orchestrator would, and waits for it.
func (r *replica) stop() error {
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := r.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	fmt.Fprintf(r.w, "  %s finished what it had and is gone\n", r.name)
	return nil
}
