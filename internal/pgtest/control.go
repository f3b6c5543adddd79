package pgtest

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// immediate asks PostgreSQL for an immediate shutdown: it ends every session at
// once and recovers on the next start, as after a crash.
const immediate = syscall.SIGQUIT

// accepting is the line of PostgreSQL's log that ends its start.
const accepting = "database system is ready to accept " // a standby: read-only connections

// Stop shuts the server down in immediate mode and waits for its end: sessions
// end without a word, committed work survives. Stopping twice is allowed.
func (s *Server) Stop() error { return s.end(immediate) }

// Kill sends SIGKILL to the postmaster and waits for its end. Its sessions
// notice for themselves, some a moment later; Start waits for them.
func (s *Server) Kill() error { return s.end(syscall.SIGKILL) }

// Restart is Stop and Start.
func (s *Server) Restart() error {
	if err := s.Stop(); err != nil {
		return err
	}
	return s.Start()
}

// Start starts a server that was stopped or killed, on its old port, and
// returns when it accepts connections. A running server is left alone. An error
// has the server's log in it.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		err := s.startOnce(ctx)
		if !errors.Is(err, errInUse) {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return err
		}
	}
}

func (s *Server) running() bool { return s.service != nil && !s.service.ended() }

func (s *Server) end(signal syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running() {
		return nil
	}
	return s.service.end(signal)
}

func (s *Server) startOnce(ctx context.Context) error {
	args := []string{"-D", s.dir.file(dataName), "-p", strconv.Itoa(s.port)}
	for name, value := range s.settings {
		args = append(args, "-c", name+"="+value)
	}
	cmd := exec.Command(filepath.Join(s.bin, "postgres"), args...)
	cmd.Dir = s.dir.path
	started, err := startService(ctx, cmd, s.as, immediate, s.dir.file(logName), accepting)
	if err != nil {
		return err
	}
	s.service = started
	return nil
}
