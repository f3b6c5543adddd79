package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestThePlayEndsAsItShould(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]func(testing.TB) string{
		"sqlite": func(testing.TB) string { return "" },
		"postgres": func(t testing.TB) string {
			testlevel.Need(t, testlevel.All)
			return pgtest.DSN(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := settings{dir: t.TempDir(), dsn: dsn(t)}
			var out bytes.Buffer
			if err := play(t.Context(), s, &out); err != nil {
				t.Fatalf("%v after:\n%s", err, out.String())
			}
			if !strings.HasSuffix(out.String(), "\n3 links, 6 mails: 2 answered, 1 expired; 1 ticket, 2 rows exported. Every step was as expected.\n") {
				t.Error(out.String())
			}
			if err := play(t.Context(), s, &out); err == nil || !strings.Contains(err.Error(), "empty database") {
				t.Error("the story was told twice on one database:", err)
			}
		})
	}
}
