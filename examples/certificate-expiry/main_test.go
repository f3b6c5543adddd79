package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/belfry-go/belfry/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// The program is run twice, as a person would: on a file, and on PostgreSQL.
func TestTheDemonstrationLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "certificate-expiry")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	for name, flags := range map[string]func(t *testing.T) []string{
		"sqlite":   func(t *testing.T) []string { return []string{"-db", filepath.Join(t.TempDir(), "school.db")} },
		"postgres": func(t *testing.T) []string { return []string{"-dsn", pgtest.DSN(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mails := filepath.Join(t.TempDir(), "mail")
			args := append(flags(t), "-out", mails)
			first := run(t, program, args)
			expect(t, first, `The worker was killed \(SIGKILL\)`, `In doubt: [1-9]\d* mails`, ` 0 wait for a person`,
				`mails sent +180\b`, `doubled +0\b`, `lost +0\b`, `\d+ +Superseded`, `Deactivated on 2026-04-08`,
				`next +2028-04-02 09:00 Europe/Dublin`)
			if n := files(t, mails); n != 180 {
				t.Errorf("%d mails in the folder", n)
			}
			second := run(t, program, args)
			expect(t, second, `0 reminders are new`, `mails sent +180\b`, `This run sent nothing`)
			if n := files(t, mails); n != 180 {
				t.Errorf("%d mails in the folder after the second run", n)
			}
		})
	}
}

func run(t *testing.T, program string, args []string) []byte {
	t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

func expect(t *testing.T, out []byte, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile(p).Match(out) {
			t.Errorf("no %s in:\n%s", p, bytes.TrimSpace(out))
		}
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
