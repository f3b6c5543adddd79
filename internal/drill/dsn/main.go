// Command dsn says what holds on a cluster of the user's: it asks the server what it can,
// runs the conformance suite, the stories of each domain, killed workers and a short
// benchmark there, and leaves out what the server cannot do. `make test-dsn` runs it. The
// role may create databases; everything is made in new ones, which are dropped.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"

	_ "github.com/lib/pq"
)

func main() {
	dsn := flag.String("dsn", "", "the `cluster`: postgres://…")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *dsn, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "test-dsn:", err)
		os.Exit(1)
	}
}

// question is what a server is asked, and what is not there without it.
type question struct {
	ask, sql string
	without  string // what is left out; empty: nothing can be done
}

var questions = []question{
	{"PostgreSQL 14 or later", "SELECT 1 / (current_setting('server_version_num')::int / 140000)", ""},
	{"a primary that takes writes", "SELECT 1 / (CASE WHEN pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' THEN 0 ELSE 1 END)", ""},
	{"UTF-8", "SELECT 1 / (CASE current_setting('server_encoding') WHEN 'UTF8' THEN 1 ELSE 0 END)", ""},
	{"the role may create databases", "SELECT 1 / (SELECT count(*) FROM pg_roles WHERE rolname = current_user AND (rolcreatedb OR rolsuper))", ""},
	{"SKIP LOCKED", "SELECT oid FROM pg_class ORDER BY oid LIMIT 1 FOR UPDATE SKIP LOCKED", ""},
	{"advisory locks", "SELECT pg_advisory_xact_lock(1)", ""},
	{"its timeline", "SELECT pg_walfile_name(pg_current_wal_insert_lsn())", "a primary that was replaced is not told"},
	{"its system identifier", "SELECT system_identifier FROM pg_control_system()", "a copy is told by Environment alone"},
	{"NOTIFY", "SELECT pg_notify('belfry', '')", "other processes wake by polling"},
}

// part is a run of tests.
type part struct {
	name string
	args []string
}

var parts = []part{
	{"conformance", []string{"-run", "TestContract", "./storage/postgres"}},
	{"stories of each domain", []string{"-run", "/postgres", "./internal/storytest"}},
	{"killed workers", []string{"-run", "TestKilledWorkersLoseNothingAndDoubleNothing/postgres", "./internal/chaostest"}},
	{"benchmark", []string{"-run", "^$", "-bench", "BenchmarkVerbs/10k", "-benchtime", "2s", "./storage/postgres"}},
}

func run(ctx context.Context, dsn string, w io.Writer) error {
	if dsn == "" {
		return errors.New("which cluster? make test-dsn DSN=postgres://…")
	}
	lines, err := ask(ctx, dsn)
	if err != nil {
		fmt.Fprint(w, strings.Join(lines, "\n"), "\n")
		return err
	}
	failed := false
	for _, p := range parts {
		fmt.Fprintf(w, "== %s\n", p.name)
		cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-count", "1", "-timeout", "1h"}, p.args...)...)
		cmd.Env = append(os.Environ(), "BELFRY_POSTGRES_DSN="+dsn, "BELFRY_REQUIRE_POSTGRES=1", "BELFRY_TEST=check")
		cmd.Stdout, cmd.Stderr = w, w
		says := "holds"
		if err := cmd.Run(); err != nil {
			says, failed = "does not hold: "+err.Error(), true
		}
		lines = append(lines, fmt.Sprintf("| %s | %s |", p.name, says))
	}
	fmt.Fprint(w, "\n| what | on this cluster |\n| --- | --- |\n", strings.Join(lines, "\n"), "\n")
	if failed {
		return errors.New("not everything holds")
	}
	return nil
}

// ask asks the server what it can. The error says what nothing can be done without.
func ask(ctx context.Context, dsn string) (lines []string, err error) {
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.PingContext(ctx); err != nil {
		return nil, err
	}
	var missing []error
	for _, q := range questions {
		says := "yes"
		if _, err := db.ExecContext(ctx, q.sql); err != nil {
			if says = "no: " + q.without; q.without == "" {
				says = "no"
				missing = append(missing, fmt.Errorf("the server has not: %s (%w)", q.ask, err))
			}
		}
		lines = append(lines, fmt.Sprintf("| %s | %s |", q.ask, says))
	}
	return lines, errors.Join(missing...)
}
