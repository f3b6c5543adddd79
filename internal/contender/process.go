package contender

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// Process is a contender at work, seen from the process that compares.
type Process struct {
	cmd     *exec.Cmd
	orders  io.WriteCloser
	answers *bufio.Scanner
}

// Start starts a contender's program, gives it its task and waits until it is
// ready. It dies with ctx.
func Start(ctx context.Context, command []string, t Task) (*Process, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	cmd.WaitDelay = 5 * time.Second
	orders, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("contender: %w", err)
	}
	p := &Process{cmd: cmd, orders: orders, answers: bufio.NewScanner(out)}
	line, err := json.Marshal(t)
	if err == nil {
		err = p.order(string(line))
	}
	if err == nil {
		_, err = p.next()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("contender: %s, %s: %w", command, t.Work, err), p.Kill())
	}
	return p, nil
}

// Go lets it begin.
func (p *Process) Go() error { return p.order(orderGo) }

// Stop lets it end what it has begun and claim no more.
func (p *Process) Stop() error { return p.order(orderStop) }

// Wait calls done for the rows that are reported until the result comes.
func (p *Process) Wait(done func(rows int)) (Result, error) {
	for {
		m, err := p.next()
		if err != nil {
			return Result{}, errors.Join(err, p.Kill())
		}
		if m.Result != nil {
			return *m.Result, p.cmd.Wait()
		}
		done(m.Done)
	}
}

// Kill ends it at once.
func (p *Process) Kill() error {
	_ = p.cmd.Process.Kill() // it may have ended already
	_ = p.cmd.Wait()         // the error is that it was killed
	return nil
}

func (p *Process) order(s string) error {
	_, err := io.WriteString(p.orders, s+"\n")
	return err
}

func (p *Process) next() (message, error) {
	var m message
	if !p.answers.Scan() {
		return m, fmt.Errorf("contender: it ended without an answer: %w", errors.Join(p.answers.Err(), io.ErrUnexpectedEOF))
	}
	if err := json.Unmarshal(p.answers.Bytes(), &m); err != nil {
		return m, fmt.Errorf("contender: answer %q: %w", p.answers.Text(), err)
	}
	if m.Error != "" {
		return m, errors.New(m.Error)
	}
	return m, nil
}
