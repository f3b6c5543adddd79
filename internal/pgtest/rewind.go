package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Back copies the cluster as it is now, for [Server.Rewind]. The server restarts, so that
// the copy is whole.
func (s *Server) Back() error {
	return s.swap("cp", "-a", s.dir.file(dataName), s.dir.file(backName))
}

// Rewind puts back the copy that Back made, as an operator puts back a backup, or as a
// fail-over does to a standby that was behind: the server restarts, on its old port, and
// has forgotten what was committed since. A copy can be put back once.
func (s *Server) Rewind() error {
	if _, err := os.Stat(s.dir.file(backName)); err != nil {
		return fmt.Errorf("pgtest: Rewind: %w", err)
	}
	return s.swap("sh", "-c", `rm -rf "$0" && mv "$1" "$0"`, s.dir.file(dataName), s.dir.file(backName))
}

// backName is the folder of the copy.
const backName = "back"

// swap runs a command while the server stands still.
func (s *Server) swap(name string, args ...string) error {
	if err := s.Stop(); err != nil {
		return err
	}
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("pgtest: %s: %w: %s", name, err, out)
	}
	return errors.Join(err, s.Start())
}
