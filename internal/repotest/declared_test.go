package repotest

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/automation/settings"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
)

// Every table of every schema and migration says how it grows, for how long rows stay
// and why, and every column that can hold words what it tells about people: retention,
// erasure and export go by that. The columns that all tables have (Record) are the same
// everywhere.
func TestEveryTableDeclaresItsLifecycle(t *testing.T) {
	t.Parallel()
	shared := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[driver.Due]()) {
		name, _, _ := strings.Cut(f.Tag.Get("db"), ",")
		shared[name] = true
	}
	declared := map[string]*driver.Schema{}
	for _, s := range schemas() {
		declared[s.Name] = s
		if s.Growth == "" {
			t.Errorf("%s does not say how it grows: Grows beside its Define", s.Name)
		}
		if s.Kept == "" || s.Why == "" {
			t.Errorf("%s does not say for how long rows stay, and why: Kept beside its Define", s.Name)
		}
		for _, c := range s.Columns {
			words := c.Type == driver.Text || c.Type == driver.JSON || c.Type == driver.Bytes
			if words && !shared[c.Name] && c.Data == "" {
				t.Errorf("%s.%s does not say what it tells about people: see driver.Data", s.Name, c.Name)
			}
		}
	}
	for dialect, files := range map[string]fs.FS{"postgres": os.DirFS(root + "/storage/postgres/migrations"), "sqlite": os.DirFS(root + "/storage/sqlite/migrations")} {
		for table, columns := range migrated(t, files) {
			s := declared[table]
			if s == nil {
				t.Errorf("%s: the table %s is migrated, and no Schemas lists it", dialect, table)
				continue
			}
			for _, name := range columns {
				if !slices.ContainsFunc(s.Columns, func(c driver.Column) bool { return c.Name == name }) {
					t.Errorf("%s: %s.%s is migrated and not declared", dialect, table, name)
				}
			}
		}
	}
}

var (
	createTable  = regexp.MustCompile(`(?s)CREATE TABLE \{?(\w+)\}? \((.*?)\n\)`)
	createColumn = regexp.MustCompile(`(?m)^\t([a-z]\w*) `)
)

// migrated are the columns of the tables that migrations make.
func migrated(t *testing.T, files fs.FS) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	names, err := fs.Glob(files, "*.sql")
	if err != nil || len(names) == 0 {
		t.Fatal("no migrations", err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range createTable.FindAllStringSubmatch(string(text), -1) {
			for _, column := range createColumn.FindAllStringSubmatch(table[2], -1) {
				out[table[1]] = append(out[table[1]], column[1])
			}
		}
	}
	return out
}

func TestThePageOfLifecyclesIsPrintedFromTheTables(t *testing.T) {
	t.Parallel()
	comparePage(t, "../../docs/lifecycle.md", lifecyclePage())
}

func lifecyclePage() string {
	var b strings.Builder
	b.WriteString("# What is kept, and for how long\n\n" +
		"Printed from the declarations beside the tables (`go test ./internal/repotest -update`). `Retention.X` is the field of\n" +
		"[`belfry.Retention`](privacy.md#retention) that says for how long; *always* means that Belfry deletes nothing there.\n" +
		"A *stub* is a tombstone: a row whose personal columns are empty. Its key stays, so that a repeated request gets the same\n" +
		"answer and nothing is sent again. \"-\" under *erased by* means that the table has nothing about people.\n\n" +
		"| table | grows by | kept for | erased by | why |\n| --- | --- | --- | --- | --- |\n")
	all, rules := schemas(), erasures()
	slices.SortFunc(all, func(x, y *driver.Schema) int { return strings.Compare(x.Name, y.Name) })
	for _, s := range slices.CompactFunc(all, func(x, y *driver.Schema) bool { return x.Name == y.Name }) {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", s.Name, s.Growth, s.Kept, erasedBy(s, rules), s.Why)
	}
	return b.String()
}

// erasedBy says what becomes of the rows of a table when a person is erased.
func erasedBy(s *driver.Schema, rules []sweep.Rule) string {
	for _, r := range rules {
		if r.Table == s.Name && personal(s) {
			return r.How()
		}
	}
	if personal(s) {
		return s.Erased
	}
	return cmp.Or(s.Erased, "-")
}

func personal(s *driver.Schema) bool {
	return slices.ContainsFunc(s.Columns, func(c driver.Column) bool { return isPersonal(c.Data) })
}

func isPersonal(d driver.Data) bool {
	return d == driver.Person || d == driver.Address || d == driver.Content
}

// erasures are the rules of all services.
func erasures() (out []sweep.Rule) {
	store := memory.New(nil)
	sends := notify.New(store, nil)
	reminders := automation.New(store, sends, &automation.Options{Settings: settings.New(store, nil)})
	report.New(store, reminders, sends, nil)
	for _, s := range []belfry.Service{sends, reminders, survey.New(store, sends, nil)} {
		for _, of := range s.SweepRules() {
			out = append(out, of.People...)
		}
	}
	return out
}

// A column that tells of people is emptied, cut, deleted with its row, or kept for a reason
// that a report gives: a new one without a rule fails here.
func TestEveryColumnThatTellsOfPeopleHasAnErasure(t *testing.T) {
	t.Parallel()
	rules := erasures()
	for _, s := range schemas() {
		for _, c := range s.Columns {
			if !isPersonal(c.Data) || s.Erased != "" {
				continue
			}
			treated := false
			for _, r := range rules {
				treated = treated || r.Table == s.Name && r.Treats(c.Name) != ""
			}
			if !treated {
				t.Errorf("%s.%s tells of people (%s), and no erasure goes through it: see package internal/sweep", s.Name, c.Name, c.Data)
			}
		}
	}
}
