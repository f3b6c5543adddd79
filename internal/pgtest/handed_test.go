package pgtest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/belfry-go/belfry/internal/testlevel"
)

const handingEnv = "BELFRY_PGTEST_HANDING"

// handingMain is the child of the tests below: it runs a shell as RunCommand does.
func handingMain() bool {
	script := os.Getenv(handingEnv)
	if script == "" {
		return false
	}
	code, err := RunCommand([]string{"sh", "-c", script})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
	return true
}

// handing starts RunCommand on a script, in a folder of its own for temporary files.
func handing(t *testing.T, script string) (child *exec.Cmd, out *bufio.Reader, tmp string) {
	t.Helper()
	testlevel.Need(t, testlevel.Check)
	requirePostgres(t)
	as, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}
	parent, err := tempParent(as)
	if err != nil {
		t.Fatal(err)
	}
	if tmp, err = os.MkdirTemp(parent, "handing-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	if err := os.Chmod(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	child = exec.Command(os.Args[0])
	child.Env = append(os.Environ(), handingEnv+"="+script, ClusterVariable+"=", "BELFRY_POSTGRES_DSN=", "TMPDIR="+tmp)
	child.Stderr = os.Stderr
	pipe, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	return child, bufio.NewReader(pipe), tmp
}

// line is the next one that a child writes.
func line(t *testing.T, out *bufio.Reader) string {
	t.Helper()
	s, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(s)
}

// ended waits for the end of a child, which leaves no server and no files.
func ended(t *testing.T, child *exec.Cmd, out *bufio.Reader, dsn, tmp string, code int) {
	t.Helper()
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // its exit code is what counts
	if got := child.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
	if addr := Addr(t, dsn); listens(addr) {
		t.Errorf("a server still listens on %s", addr)
	}
	left, err := filepath.Glob(filepath.Join(tmp, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestACommandGetsAClusterThatGoesWithIt(t *testing.T) {
	t.Parallel()
	child, out, tmp := handing(t, "echo $"+ClusterVariable+"; exit 7")
	ended(t, child, out, line(t, out), tmp, 7)
}

// A signal reaches all that the command has started: a sleeper in the background would
// keep the output open.
func TestASignalledCommandLeavesNothing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere a command has no group of its own")
	}
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			child, out, tmp := handing(t, "echo $"+ClusterVariable+"; sleep 1000 & echo up; exec sleep 1000")
			dsn := line(t, out)
			if !listens(Addr(t, dsn)) {
				t.Fatal("there is no server to leave behind")
			}
			line(t, out)
			if err := child.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			ended(t, child, out, dsn, tmp, 128+int(signal))
		})
	}
}
