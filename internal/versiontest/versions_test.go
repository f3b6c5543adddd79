package versiontest

import (
	"bytes"
	"database/sql"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "github.com/lib/pq"
	_ "github.com/mattn/go-sqlite3"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// shared is a database that programs of both versions work on.
type shared struct {
	*testing.T
	driver, dsn string
}

// does runs a program, and wants it to write just these lines.
func (s shared) does(program, migrate string, verbs string, want ...string) {
	s.Helper()
	got, err := s.run(program, migrate, strings.Fields(verbs)...)
	if err != nil {
		s.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("%s %s: %s", filepath.Base(program), verbs, diff)
	}
}

func (s shared) run(program, migrate string, verbs ...string) ([]string, error) {
	cmd := exec.CommandContext(s.Context(), program, append([]string{s.driver, s.dsn, migrate}, verbs...)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %v: %w\n%s", filepath.Base(program), verbs, err, said.Bytes())
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines, nil
}

func created(name string) string {
	return "wish " + name + ": reminder Created, message Created, link Created"
}

func again(name string) string {
	return "wish " + name + ": reminder Unchanged, message Unchanged, link Skipped"
}

func sent(names ...string) (lines []string) {
	for _, what := range []string{"link", "reminder", "welcome"} {
		for _, name := range names {
			lines = append(lines, "sent "+what+" to "+name)
		}
	}
	return lines
}

// Programs of the oldest version that is supported and of today's take turns on one
// database, whichever made its tables, and beside each other: what one asked for the other
// knows, sends once, and erases.
func TestVersionsShareADatabase(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Check)
	p := built(t)
	for _, driver := range []string{"sqlite", "postgres"} {
		for name, play := range map[string]func(shared, programs){"old on new": oldOnNew, "new on old": newOnOld, "at once": atOnce, "still newer": stillNewer} {
			t.Run(driver+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := shared{t, driver, filepath.Join(t.TempDir(), "shared.db")}
				if driver == "postgres" {
					s.dsn = pgtest.DSN(t)
				}
				play(s, p)
			})
		}
	}
}

// oldOnNew has an old program work on tables that a new one made.
func oldOnNew(s shared, p programs) {
	s.does(p.today, "auto", "wish:a", created("a"))
	s.does(p.oldest, "verify", "wish:a wish:b work", append([]string{again("a"), created("b")}, sent("a", "b")...)...)
	s.does(p.today, "verify", "wish:b work answer:b tell:b", again("b"), "answer b: taken", "tell b: SentToProvider, SentToProvider")
	s.does(p.oldest, "auto", "answer:a erase:a", "answer a: taken", "erase a: Landing")
	s.does(p.today, "auto", "wish:a work tell:a", again("a"), "tell a: nothing")
}

// newOnOld has a new program work on tables that an old one made: it brings them up to
// date, or is refused where it may not and has to.
func newOnOld(s shared, p programs) {
	s.does(p.oldest, "auto", "wish:a", created("a"))
	more := slices.ContainsFunc(p.added, func(m string) bool { return strings.HasPrefix(m, s.driver+"/") })
	if _, err := s.run(p.today, "verify"); more != (err != nil && strings.Contains(err.Error(), "lacks the migrations")) || !more && err != nil {
		s.Errorf("that migrations are missing is %t, and it says %v", more, err)
	}
	s.does(p.today, "auto", "wish:a wish:b work answer:a", append(append([]string{again("a"), created("b")}, sent("a", "b")...), "answer a: taken")...)
	s.does(p.oldest, "verify", "wish:a wish:b work answer:b tell:b", again("a"), again("b"), "answer b: taken", "tell b: SentToProvider, SentToProvider")
	s.does(p.today, "auto", "erase:b", "erase b: Landing")
	s.does(p.oldest, "auto", "wish:b work tell:b", again("b"), "tell b: nothing")
}

// atOnce has workers of both versions on the same rows.
func atOnce(s shared, p programs) {
	var wishes, names []string
	for i := range 30 {
		names = append(names, fmt.Sprintf("n%02d", i))
		wishes = append(wishes, "wish:"+names[i])
	}
	for i, program := range []string{p.today, p.oldest} {
		if _, err := s.run(program, "auto", wishes[15*i:15*i+15]...); err != nil {
			s.Fatal(err)
		}
	}
	var all []string
	var mu sync.Mutex
	var workers sync.WaitGroup
	for _, program := range []string{p.today, p.oldest, p.today, p.oldest} {
		workers.Go(func() {
			lines, err := s.run(program, "verify", "work")
			mu.Lock()
			defer mu.Unlock()
			if all = append(all, lines...); err != nil {
				s.Error(err)
			}
		})
	}
	workers.Wait()
	rest, err := s.run(p.today, "verify", "work") // what a worker had in its hands when the others found nothing
	if err != nil {
		s.Fatal(err)
	}
	all = append(all, rest...)
	slices.Sort(all)
	if diff := cmp.Diff(sent(names...), all); diff != "" {
		s.Error(diff)
	}
}

// stillNewer gives each table a column of which neither program knows, as a version to come
// may do.
func stillNewer(s shared, p programs) {
	s.does(p.today, "auto", "")
	handle := map[string]string{"sqlite": "sqlite3", "postgres": "postgres"}[s.driver]
	list := map[string]string{"sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
		"postgres": "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"}[s.driver]
	db, err := sql.Open(handle, s.dsn)
	if err != nil {
		s.Fatal(err)
	}
	defer db.Close()
	for _, table := range column(s, db, list) {
		if table == "schema_migration" {
			continue
		}
		if _, err := db.ExecContext(s.Context(), "ALTER TABLE "+table+" ADD COLUMN later text"); err != nil {
			s.Fatal(err)
		}
	}
	if _, err := db.ExecContext(s.Context(), "INSERT INTO schema_migration VALUES (9999, '9999_later.sql', 'of another', NULL)"); err != nil {
		s.Fatal(err)
	}
	s.does(p.oldest, "verify", "wish:a work", append([]string{created("a")}, sent("a")...)...)
	s.does(p.today, "auto", "wish:a wish:b work answer:a erase:a", append(append([]string{again("a"), created("b")}, sent("b")...), "answer a: taken", "erase a: Landing")...)
	s.does(p.oldest, "auto", "wish:b work tell:b", again("b"), "tell b: SentToProvider, SentToProvider")
}

func column(s shared, db *sql.DB, query string) (all []string) {
	s.Helper()
	rows, err := db.QueryContext(s.Context(), query)
	if err != nil {
		s.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			s.Fatal(err)
		}
		all = append(all, v)
	}
	if err := rows.Err(); err != nil {
		s.Fatal(err)
	}
	return all
}
