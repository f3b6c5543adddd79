package pgtest

import (
	"testing"

	"github.com/belfry-go/belfry/internal/testlevel"
)

const serverProcess = "SELECT pg_backend_pid()"

func TestTheBouncerPoolsTransactions(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Nightly)
	direct := DSN(t)
	pooled := Bouncer(t, direct, map[string]string{"default_pool_size": "1"})
	a, b := pin(t, pooled), pin(t, pooled)
	if query(t, a, serverProcess) != query(t, b, serverProcess) {
		t.Fatal("two clients of a pool of one have two server sessions")
	}
	name := "SELECT current_database()"
	if got, want := query(t, a, name), query(t, open(t, direct), name); got != want {
		t.Fatalf("the pooler leads to database %s, want %s", got, want)
	}
}

func TestBouncerSettingsReachIt(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Nightly)
	pooled := Bouncer(t, DSN(t), map[string]string{"pool_mode": "session"})
	a, b := pin(t, pooled), pin(t, pooled)
	if query(t, a, serverProcess) == query(t, b, serverProcess) {
		t.Fatal("two clients in session mode share a server session")
	}
}
