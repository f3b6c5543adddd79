package chaostest

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
)

// outages is how often the server goes.
func outages(t testing.TB, d Driver) int {
	if testlevel.Has(t, testlevel.Nightly) {
		return 20
	}
	return d.share(t, 6)
}

// Restarts has deliveries flow while the database's server is stopped or killed, and
// started again, at random moments. The workers live on and go on by themselves. Each
// delivery arrives once, and no claim makes two calls.
func Restarts(t *testing.T, d Driver) {
	if d.SQLite {
		t.Skip("there is no server")
	}
	server := pgtest.New(t, nil)
	d.DSN = server.Database
	a := newArena(t, d)
	a.ensure(a.deliveries)
	workers := []*exec.Cmd{a.start("run"), a.start("run")}
	n := outages(t, d)
	for range n {
		a.flow()
		a.arrive(1 + a.rnd.IntN(60))
		end := server.Stop
		if a.rnd.IntN(2) == 0 {
			end = server.Kill
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		a.pause()
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
	}
	a.arrive(1)
	for _, w := range workers {
		_ = w.Process.Kill()
		_ = w.Wait()
		if state := w.ProcessState.String(); state != "signal: killed" {
			t.Errorf("a worker did not live through it: %s", state)
		}
	}
	a.offset += pastEverything
	a.finish(fmt.Sprint(n, " restarts"))
}

// arrive waits for calls, which come however long the database was away.
func (a *arena) arrive(calls int) {
	a.t.Helper()
	for len(a.provider.arrived) > 0 { // those of before
		<-a.provider.arrived
	}
	late := time.NewTimer(5 * time.Minute)
	defer late.Stop()
	for range calls {
		select {
		case <-a.provider.arrived:
		case <-late.C:
			a.t.Fatal("no deliveries in five minutes")
		}
	}
}
