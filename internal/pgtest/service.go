package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	startTimeout = time.Minute // crash recovery on a busy machine included
	pollEvery    = 20 * time.Millisecond
)

// Why a server did not start, where a caller may try again.
var (
	errEnded     = errors.New("it ended")
	errPortTaken = errors.New("its port is taken")
	errInUse     = errors.New("sessions of its last run are still ending")
)

// service is a running server program and the file that takes its output.
type service struct {
	*process
	log  *os.File
	from int64 // where this run's output begins
}

// startService starts cmd and returns when its output says up. That is its own
// word: a connection could reach somebody else's server on the same port. An
// error has what the program wrote in it.
func startService(ctx context.Context, cmd *exec.Cmd, as *account, death syscall.Signal, logName, up string) (*service, error) {
	log, err := os.OpenFile(logName, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("pgtest: %w", err)
	}
	s := &service{log: log}
	if s.from, err = log.Seek(0, io.SeekEnd); err == nil {
		cmd.Stdout, cmd.Stderr = log, log
		s.process, err = launch(cmd, as, death)
	}
	if err != nil {
		return nil, errors.Join(s.explain(cmd, err), log.Close())
	}
	if err := s.await(ctx, up); err != nil {
		s.process.end(syscall.SIGKILL)
		return nil, errors.Join(s.explain(cmd, err), log.Close())
	}
	return s, nil
}

// end sends a signal and waits for the end.
func (s *service) end(signal syscall.Signal) error {
	s.process.end(signal)
	return s.log.Close()
}

// await waits until the output says up.
func (s *service) await(ctx context.Context, up string) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		output, err := s.output()
		if err != nil || strings.Contains(output, up) {
			return err
		}
		select {
		case <-ticker.C:
		case <-s.done:
			return errEnded
		case <-ctx.Done():
			return fmt.Errorf("it did not say %q: %w", up, ctx.Err())
		}
	}
}

// output is what this run has written so far.
func (s *service) output() (string, error) {
	text, err := io.ReadAll(io.NewSectionReader(s.log, s.from, 64<<10))
	return string(text), err
}

// explain says why cmd did not start.
func (s *service) explain(cmd *exec.Cmd, err error) error {
	output, readErr := s.output()
	switch {
	case readErr != nil:
		err = errors.Join(err, readErr)
	case strings.Contains(output, "is still in use"):
		err = errInUse
	case strings.Contains(output, "Address already in use"):
		err = errPortTaken
	}
	return fmt.Errorf("pgtest: start %s: %w; its output:\n%s", cmd.Path, err, output)
}
