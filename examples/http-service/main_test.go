package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/internal/pgtest"
)

// The replicas of the play are this binary again.
func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		main()
		return
	}
	pgtest.Main(m)
}

func TestThePlayEndsAsItShould(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := play(t.Context(), settings{dsn: pgtest.DSN(t)}, &out)
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"27 mails wanted, 27 guests have one, 0 have more than one, 0 should have none.",
		"booking for booking b02, on 2", "Completed on",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no %q", line)
		}
	}
}
