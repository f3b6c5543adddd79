package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// wantTable is the end of the story on either database.
const wantTable = `
        stage  reports  sent by old  by new  old refused  conflicts  doubled  missed
     0 Design        8            8       0            0          0        0       0
     1 Shadow       28           28       0            0          0        0       0
     2 RunNow        6            4       2            1          0        0       0
  3 Scheduled       23            2      21           23          1        0       0
    4 CutOver       16            0      16            0          0        0       0
      3 again        8            0       8            8          0        0       0
   unexpected        0            0       0            0          0        0       0
`

func TestNoReportIsDoubledOrMissed(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]func(*testing.T) settings{
		"sqlite": func(t *testing.T) settings { return settings{db: filepath.Join(t.TempDir(), "reports.db")} },
		"postgres": func(t *testing.T) settings {
			testlevel.Need(t, testlevel.All)
			return settings{dsn: pgtest.DSN(t)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := on(t)
			s.out = filepath.Join(t.TempDir(), "mail")
			var out bytes.Buffer
			if err := run(t.Context(), &out, s); err != nil {
				t.Fatalf("%v after:\n%s", err, out.String())
			}
			if !strings.HasSuffix(out.String(), wantTable) {
				t.Error(out.String())
			}
			if err := run(t.Context(), &out, s); err == nil {
				t.Error("the story was told twice in one place")
			}
		})
	}
}

// The old scheduler runs what the run book says.
func TestTheStatementsAreThoseOfTheRunBook(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/migrating.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{guardSQL, overdueSQL} {
		if !strings.Contains(string(page), statement) {
			t.Errorf("docs/migrating.md does not have%s", statement)
		}
	}
}
