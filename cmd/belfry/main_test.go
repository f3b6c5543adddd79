package main

import (
	"bytes"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/postgres"
	"github.com/belfry-go/belfry/storage/sqlite"
)

const roleVariable = "BELFRY_TEST_COMMAND"

// TestMain is the command, too, as a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) != "" {
		main()
		return
	}
	pgtest.Main(m)
}

var update = flag.Bool("update", false, "print the golden files again")

// today are moments of this century.
var today = regexp.MustCompile(`20\d\d-\d\d-\d\d \d\d:\d\d UTC`)

// belfry runs the command, and tells what it said.
func belfry(t *testing.T, said *strings.Builder, dsn string, args ...string) (code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), roleVariable+"=1", "BELFRY_DSN="+dsn)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		var ended *exec.ExitError
		if !errors.As(err, &ended) {
			t.Fatal(err)
		}
	}
	fmt.Fprintf(said, "$ belfry %s\n%s[%d]\n\n", strings.Join(args, " "), today.ReplaceAllString(out.String(), "(just now)"), cmd.ProcessState.ExitCode())
	return cmd.ProcessState.ExitCode()
}

// golden compares what was said with a file.
func golden(t *testing.T, name, said string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(said), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), said); diff != "" {
		t.Errorf("%s differs (-update prints it again):\n%s", path, diff)
	}
}

func TestTheHelpIsGoodReading(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	for _, args := range [][]string{{"-h"}, {"person", "-h"}, {"resolve", "-h"}, {"erase", "-h"}, {"nothing"}, {}} {
		belfry(t, &said, "", args...)
	}
	golden(t, "help.golden", said.String())
}

// A database and its DSN are enough to make and check its tables, to see what waits, and to
// act; what needs the host's program is left to it. Both databases give the same answers.
func TestADatabaseIsLookedAfterByItsDSNAlone(t *testing.T) {
	testlevel.Need(t, testlevel.Check)
	t.Parallel()
	for name, dsn := range map[string]func(*testing.T) (string, storage.Store){"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn, store := dsn(t)
			out := notify.New(store, nil)
			reminders := automation.New(store, out, nil)
			_, err := reminders.Ensure(t.Context(), automation.Candidate{
				Type: "certificate", Source: automation.Source{Type: "employee", ID: "sam"}, Person: "sam",
				TargetDate: automation.Date{Year: 2999, Month: 4, Day: 24}, DaysBefore: 7, SendAt: "09:00", Zone: "UTC",
			})
			if err != nil {
				t.Fatal(err)
			}
			var said strings.Builder
			by := []string{"-yes", "-actor", "ann", "-reason", "a-call"}
			key := "Reminder/reminder:certificate:employee:sam:default:2999-04-24:7"
			for _, args := range [][]string{
				{"check"}, {"health"}, {"holds"}, {"person", "sam"},
				{"cancel", key}, append([]string{"cancel", key}, by...), {"release", key}, append([]string{"release", key}, by...),
				append([]string{"pause", "-domain", "automation", "-everywhere"}, by...), append([]string{"pause", "-domain", "automation", "-everywhere"}, by...),
				append([]string{"resume", "-domain", "automation", "-everywhere"}, by...),
				{"health", "-everywhere"}, append([]string{"replan", "-type", "certificate"}, by...),
				{"preview"}, {"retain"}, {"export", "sam"}, append([]string{"erase", "sam"}, by...),
			} {
				belfry(t, &said, dsn, args...)
			}
			golden(t, "session.golden", said.String())
		})
	}
}

// A database that is not there, or too old, is said to be so; migrate makes it.
func TestADatabaseWithoutTablesIsMadeByMigrateAlone(t *testing.T) {
	testlevel.Need(t, testlevel.Check)
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, dsn := range map[string]string{"sqlite": empty, "postgres": pgtest.DSN(t)} {
		for _, step := range []struct {
			args []string
			code int
		}{{[]string{"health"}, 1}, {[]string{"check"}, 3}, {[]string{"migrate"}, 0}, {[]string{"migrate"}, 0}, {[]string{"check"}, 0}, {[]string{"health"}, 0}} {
			var said strings.Builder
			if code := belfry(t, &said, dsn, step.args...); code != step.code {
				t.Errorf("%s: exit %d, not %d\n%s", name, code, step.code, said.String())
			}
		}
	}
	nowhere := filepath.Join(t.TempDir(), "no", "such.db")
	for _, name := range []string{"health", "check"} {
		var said strings.Builder
		if code := belfry(t, &said, nowhere, name); code != 1 || !strings.Contains(said.String(), "the file does not exist") {
			t.Error(code, said.String())
		}
	}
	var said strings.Builder
	if code := belfry(t, &said, "", "health"); code != 1 || !strings.Contains(said.String(), "BELFRY_DSN") {
		t.Error(said.String())
	}
}

// The way of a host that grows: what is in a file goes to PostgreSQL, and works there.
func TestATenantMovesFromSQLiteToPostgreSQL(t *testing.T) {
	testlevel.Need(t, testlevel.Check)
	t.Parallel()
	file, store := onSQLite(t)
	dsn, grown := onPostgres(t)
	reminder := automation.Candidate{
		Type: "certificate", Source: automation.Source{Type: "employee", ID: "sam"}, Person: "sam",
		TargetDate: automation.Date{Year: 2999, Month: 4, Day: 24}, DaysBefore: 7, SendAt: "09:00", Zone: "UTC",
	}
	if _, err := automation.New(store, notify.New(store, nil), nil).Ensure(t.Context(), reminder); err != nil {
		t.Fatal(err)
	}
	by := []string{"-actor", "ann", "-reason", "we-grow"}
	for _, step := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"move"}, 2, "-to is required"},
		{[]string{"move", "-to", filepath.Join(t.TempDir(), "no.db")}, 1, "the file does not exist"},
		{[]string{"move", "-to", dsn}, 4, "1 row would be moved"},
		{append([]string{"move", "-to", dsn, "-undo", "-yes"}, by...), 5, "the tenant is not being moved"},
		{append([]string{"move", "-to", dsn, "-yes"}, by...), 0, "1 row moved"},
		{append([]string{"move", "-to", dsn, "-yes"}, by...), 0, "phase: Moved"},
		{[]string{"health"}, 0, "Nothing is due."},
	} {
		var said strings.Builder
		if code := belfry(t, &said, file, step.args...); code != step.code || !strings.Contains(said.String(), step.says) {
			t.Errorf("exit %d, not %d, or not %q\n%s", code, step.code, step.says, said.String())
		}
	}
	got, err := automation.New(grown, notify.New(grown, nil), nil).Ensure(t.Context(), reminder)
	if err != nil || got[0].Outcome != storage.Unchanged {
		t.Error(got, err)
	}
}

// What migrations make is all compared.
func TestACheckKnowsEveryTable(t *testing.T) {
	testlevel.Need(t, testlevel.Check)
	t.Parallel()
	dsn, _ := onPostgres(t)
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var tables int
	const count = `SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema() AND table_name NOT LIKE '%schema_migration'`
	if err := db.QueryRowContext(t.Context(), count).Scan(&tables); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	if belfry(t, &said, dsn, "check"); !strings.Contains(said.String(), fmt.Sprintf("\n%d tables are as", tables)) {
		t.Errorf("%d tables: %s", tables, said.String())
	}
}

func onSQLite(t *testing.T) (string, storage.Store) {
	path := filepath.Join(t.TempDir(), "app.db")
	s, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return path, s
}

func onPostgres(t *testing.T) (string, storage.Store) {
	dsn := pgtest.DSN(t)
	s, err := postgres.Open(t.Context(), dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return dsn, s
}
