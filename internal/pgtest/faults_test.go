package pgtest

import (
	"bytes"
	"testing"

	"github.com/belfry-go/belfry/internal/faultnet"
	"github.com/belfry-go/belfry/internal/testlevel"
)

// The two test packages together make the fault that matters most here: the
// commit happened, and nobody told the client.
func TestACommitWhoseReplyIsLostIsCommitted(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Nightly)
	direct := DSN(t)
	for name, dsn := range map[string]string{
		"direct":  direct,
		"bouncer": Bouncer(t, direct, nil),
	} {
		table := "bells_" + name
		run(t, open(t, direct), "CREATE TABLE "+table+" (n int)")
		proxy := faultnet.Start(t, Addr(t, dsn))
		conn := pin(t, Via(t, dsn, proxy.Addr()))
		lost := proxy.DropReplyOnce(func(request []byte) bool {
			return bytes.Contains(request, []byte("COMMIT"))
		})

		run(t, conn, "BEGIN")
		run(t, conn, "INSERT INTO "+table+" VALUES (1)")
		if _, err := conn.ExecContext(t.Context(), "COMMIT"); err == nil {
			t.Fatalf("%s: the lost reply arrived", name)
		}
		<-lost
		if got := query(t, open(t, direct), "SELECT count(*) FROM "+table); got != "1" {
			t.Fatalf("%s: %s rows, want the committed one", name, got)
		}
	}
}
