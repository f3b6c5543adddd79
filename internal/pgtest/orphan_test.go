package pgtest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/testlevel"
)

const orphanEnv = "BELFRY_PGTEST_ORPHAN"

// endTimeout is longer than an immediate shutdown takes, and shorter than a
// server takes to notice that somebody swept its files away.
const endTimeout = 30 * time.Second

// orphanMain is the child of TestAKilledTestLeavesNothing: it starts a server,
// says where, and waits to be killed.
func orphanMain() bool {
	bin := os.Getenv(orphanEnv)
	if bin == "" {
		return false
	}
	server, err := startCluster(bin, &Options{})
	if err != nil {
		fmt.Println(err)
		return true
	}
	fmt.Println(server.dir.path, fmt.Sprintf("127.0.0.1:%d", server.port))
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent is gone, too
	return true
}

func TestAKilledTestLeavesNothing(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Nightly)
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a server with the process that started it")
	}
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), orphanEnv+"="+requirePostgres(t))
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close() })
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	dir, addr, found := strings.Cut(strings.TrimSpace(line), " ")
	if err != nil || !found || !filepath.IsAbs(dir) {
		t.Fatalf("the child said %q, %v", line, err)
	}
	if !listens(addr) {
		t.Fatalf("nothing listens on %s", addr)
	}
	sweep(filepath.Dir(dir))
	if _, err := os.Stat(filepath.Join(dir, dataName)); err != nil {
		t.Fatalf("a cluster in use was swept away: %v", err)
	}

	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // "signal: killed"
	eventually(t, "the server is gone", func() bool { return !listens(addr) })
	eventually(t, "a sweep clears its files", func() bool {
		sweep(filepath.Dir(dir))
		_, err := os.Stat(dir)
		return os.IsNotExist(err)
	})
}

func listens(addr string) bool {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	timeout := time.NewTimer(endTimeout)
	defer timeout.Stop()
	for !holds() {
		select {
		case <-ticker.C:
		case <-timeout.C:
			t.Fatalf("not true after %v: %s", endTimeout, what)
		}
	}
}
