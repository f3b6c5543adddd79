package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/belfry-go/belfry/internal/exampletest"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

// The program is run twice, as a person would: on a file, and on PostgreSQL.
func TestTheDemonstrationLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string]func(t *testing.T) []string{
		"sqlite": func(t *testing.T) []string { return []string{"-db", filepath.Join(t.TempDir(), "school.db")} },
		"postgres": func(t *testing.T) []string {
			testlevel.Need(t, testlevel.All)
			return []string{"-dsn", pgtest.DSN(t)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mails := filepath.Join(t.TempDir(), "mail")
			args := append(flags(t), "-out", mails)
			first := exampletest.Run(t, args...)
			exampletest.Expect(t, first, `The worker was killed \(SIGKILL\)`, `In doubt: [1-9]\d* mails`, ` 0 wait for a person`,
				`mails sent +180\b`, `doubled +0\b`, `lost +0\b`, `\d+ +Superseded`, `Deactivated on 2026-04-08`,
				`next +2028-04-02 09:00 Europe/Dublin`)
			if n := files(t, mails); n != 180 {
				t.Errorf("%d mails in the folder", n)
			}
			second := exampletest.Run(t, args...)
			exampletest.Expect(t, second, `0 reminders are new`, `mails sent +180\b`, `This run sent nothing`)
			if n := files(t, mails); n != 180 {
				t.Errorf("%d mails in the folder after the second run", n)
			}
		})
	}
}

func files(t *testing.T, dir string) int {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range all {
		if filepath.Ext(f.Name()) == ".eml" {
			n++
		}
	}
	return n
}
