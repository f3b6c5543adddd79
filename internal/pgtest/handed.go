package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// ClusterVariable is the environment variable by which a run hands its cluster on to the
// tests in it.
const ClusterVariable = "BELFRY_TEST_CLUSTER"

// handedOn is the URL of the cluster of the whole run, where there is one. The variable
// is read behind the back of `go test`, which caches results by what os.Getenv reads:
// the address differs in each run, and no result depends on it.
func handedOn() string {
	dsn, _ := syscall.Getenv(ClusterVariable)
	return dsn
}

// lastWord is how long a command may take to end after a signal, before it is killed.
const lastWord = 10 * time.Second

// RunCommand runs a command with one cluster for all tests in it, removes the cluster,
// and returns the command's exit code. SIGINT, SIGTERM and SIGHUP are passed on to the
// command and what it started. The end of the parent counts as SIGTERM, since `go run`
// does not pass that on. Where the environment has a server already, or PostgreSQL is
// missing, the command runs as it is.
func RunCommand(args []string) (code int, err error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	parent := os.Getppid()

	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = os.Environ()
	if bin, missing := findPostgres(); missing == nil && handedOn() == "" && os.Getenv("BELFRY_POSTGRES_DSN") == "" {
		server, startErr := startCluster(bin, sharedOptions)
		if startErr != nil {
			return 1, startErr
		}
		defer func() {
			if removeErr := server.Remove(); removeErr != nil {
				code, err = max(code, 1), errors.Join(err, removeErr)
			}
		}()
		cmd.Env = append(cmd.Env, ClusterVariable+"="+server.DSN())
	}
	return runGroup(cmd, signals, parent)
}

// runGroup runs a command, and what it starts, until it ends or a signal asks for that.
func runGroup(cmd *exec.Cmd, signals <-chan os.Signal, parent int) (int, error) {
	p, err := launch(cmd, nil, syscall.SIGKILL)
	if err != nil {
		return 1, fmt.Errorf("pgtest: %w", err)
	}
	defer signalGroup(cmd, syscall.SIGKILL) // what is left of it must not miss the cluster
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	var kill <-chan time.Time
	asked := func(s os.Signal) {
		signalGroup(cmd, s.(syscall.Signal))
		if kill == nil {
			kill = time.After(lastWord)
		}
	}
	for {
		select {
		case <-p.done:
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
				return 128 + int(status.Signal()), nil // as a shell says it
			}
			return cmd.ProcessState.ExitCode(), nil
		case s := <-signals:
			asked(s)
		case <-ticker.C:
			if os.Getppid() != parent {
				parent = os.Getppid()
				asked(syscall.SIGTERM)
			}
		case <-kill:
			signalGroup(cmd, syscall.SIGKILL)
		}
	}
}
