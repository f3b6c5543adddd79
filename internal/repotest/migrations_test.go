package repotest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// migrationsRegister says which migrations there are. Its second line is the switch: once it
// says frozen, what it lists is never changed again, and what comes after it only adds.
const (
	migrationsRegister = root + "/storage/migrations.txt"
	registerHead       = "# The migrations of each dialect and their checksums, printed by go test ./internal/repotest -update.\n"
	registerOpen       = "# Until v0.1.0 they are edited in place. Then this line says: frozen\n"
	registerFrozen     = "# frozen\n"
)

func TestMigrationsAreThoseOfTheRegister(t *testing.T) {
	t.Parallel()
	all := map[string]fs.FS{}
	for _, dialect := range []string{"postgres", "sqlite"} {
		all[dialect] = os.DirFS(root + "/storage/" + dialect + "/migrations")
	}
	have, err := os.ReadFile(migrationsRegister)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	page, err := register(string(have), all)
	if err != nil {
		t.Fatal(err)
	}
	comparePage(t, migrationsRegister, page)
}

var migrationName = regexp.MustCompile(`^[0-9]{4}_[a-z0-9_]+\.sql$`)

// register prints the register of all migrations, after the one that was printed before. It
// refuses what a database that is in use could not take.
func register(before string, all map[string]fs.FS) (string, error) {
	frozen, head, listed := strings.HasPrefix(before, registerHead+registerFrozen), registerOpen, map[string]string{}
	if frozen {
		head = registerFrozen
		for line := range strings.Lines(strings.TrimPrefix(before, registerHead+registerFrozen)) {
			name, sum, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			listed[name] = sum
		}
	}
	var lines []string
	var faults []error
	for dialect, files := range all {
		names, err := fs.Glob(files, "*.sql")
		if err != nil {
			return "", err
		}
		last := ""
		for name := range listed {
			if strings.HasPrefix(name, dialect+"/") {
				last = max(last, name)
			}
		}
		for _, file := range names {
			text, err := fs.ReadFile(files, file)
			if err != nil {
				return "", err
			}
			name, digest := dialect+"/"+file, sha256.Sum256(text)
			sum := hex.EncodeToString(digest[:])
			lines = append(lines, name+" "+sum+"\n")
			was, known := listed[name]
			delete(listed, name)
			switch {
			case !migrationName.MatchString(file):
				faults = append(faults, fmt.Errorf("%s is not named NNNN_name.sql", name))
			case known && was != sum:
				faults = append(faults, fmt.Errorf("%s was changed: write another one", name))
			case frozen && !known && name[:len(dialect)+5] <= last[:min(len(last), len(dialect)+5)]:
				faults = append(faults, fmt.Errorf("%s is new, and its number is not after %s", name, last))
			case frozen && !known:
				faults = append(faults, adds(name, dialect == "postgres", string(text)))
			}
		}
	}
	for name := range listed {
		faults = append(faults, fmt.Errorf("%s is gone", name))
	}
	slices.Sort(lines)
	return registerHead + head + strings.Join(lines, ""), errors.Join(faults...)
}

var (
	sqlComment  = regexp.MustCompile(`(?m)--.*$`)
	addsTable   = regexp.MustCompile(`^CREATE TABLE \{(\w+)\}`)
	addsColumn  = regexp.MustCompile(`^ALTER TABLE \{\w+\} ADD COLUMN \w+ [^,]*$`)
	addsIndex   = regexp.MustCompile(`^CREATE INDEX (CONCURRENTLY IF NOT EXISTS )?\{index:\w+\} ON \{(\w+)\}`)
	forAllOther = regexp.MustCompile(`NOT NULL`)
)

// adds refuses statements that an older program would notice, or that keep writers of a
// large table waiting for longer than a change of the catalogue.
func adds(name string, postgres bool, text string) error {
	made := map[string]bool{}
	statements := slices.DeleteFunc(strings.Split(sqlComment.ReplaceAllString(text, ""), ";"), func(s string) bool { return strings.TrimSpace(s) == "" })
	for _, s := range statements {
		s = strings.TrimSpace(s)
		index := addsIndex.FindStringSubmatch(s)
		switch {
		case addsTable.MatchString(s):
			made[addsTable.FindStringSubmatch(s)[1]] = true
		case addsColumn.MatchString(s) && !forAllOther.MatchString(s):
		case index == nil:
			return fmt.Errorf("%s does more than add a table, a column that may be NULL, or an index: %.60s", name, s)
		case postgres && !made[index[2]] && (index[1] == "" || len(statements) > 1 || !strings.HasPrefix(text, "-- concurrently\n")):
			return fmt.Errorf("%s makes an index on a table that may be large: the file begins with -- concurrently, and has that statement alone", name)
		}
	}
	return nil
}

// Before the switch migrations are edited in place; after it nothing is, and what comes
// only adds.
func TestFrozenMigrationsOnlyGetMore(t *testing.T) {
	t.Parallel()
	one := fstest.MapFS{"0001_bell.sql": {Data: []byte("CREATE TABLE {bell} (n bigint);")}}
	printed, err := register("", map[string]fs.FS{"postgres": one})
	if err != nil {
		t.Fatal(err)
	}
	frozen := strings.Replace(printed, registerOpen, registerFrozen, 1)
	const index = "CREATE INDEX CONCURRENTLY IF NOT EXISTS {index:bell_n} ON {bell} (n);"
	for name, c := range map[string]struct {
		register, file, text, want string
	}{
		"edited before":             {printed, "0001_bell.sql", "CREATE TABLE {bell} (n text);", ""},
		"edited":                    {frozen, "0001_bell.sql", "CREATE TABLE {bell} (n text);", "was changed"},
		"another":                   {frozen, "0002_rope.sql", "CREATE TABLE {rope} (n text); CREATE INDEX {index:rope_n} ON {rope} (n);", ""},
		"between":                   {frozen, "0001_aaa.sql", "CREATE TABLE {aaa} (n text);", "not after"},
		"misnamed":                  {frozen, "2_rope.sql", "CREATE TABLE {rope} (n text);", "not named"},
		"a column":                  {frozen, "0002_rope.sql", "ALTER TABLE {bell} ADD COLUMN m text;", ""},
		"a column that is told":     {frozen, "0002_rope.sql", "ALTER TABLE {bell} ADD COLUMN m text NOT NULL DEFAULT '';", "more than add"},
		"a column less":             {frozen, "0002_rope.sql", "ALTER TABLE {bell} DROP COLUMN n;", "more than add"},
		"rows":                      {frozen, "0002_rope.sql", "UPDATE {bell} SET n = 1;", "more than add"},
		"an index":                  {frozen, "0002_rope.sql", "-- concurrently\n" + index, ""},
		"an index that locks":       {frozen, "0002_rope.sql", "CREATE INDEX {index:bell_n} ON {bell} (n);", "may be large"},
		"an index in a transaction": {frozen, "0002_rope.sql", "-- concurrently\nCREATE TABLE {rope} (n text);" + index, "may be large"},
	} {
		files := fstest.MapFS{"0001_bell.sql": one["0001_bell.sql"]}
		files[c.file] = &fstest.MapFile{Data: []byte(c.text)}
		page, err := register(c.register, map[string]fs.FS{"postgres": files})
		if c.want == "" && (err != nil || !strings.Contains(page, c.file)) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := register(frozen, map[string]fs.FS{"postgres": fstest.MapFS{}}); err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("without it: %v", err)
	}
}
