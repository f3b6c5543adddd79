package sqlstore

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strconv"
)

// migration is one file: a step of the tables' history, forward only.
type migration struct {
	number int
	file   string
	text   string // as it is in the file
	sum    string // SHA-256 of text, in hex
}

var migrationFile = regexp.MustCompile(`^([0-9]{4})_[a-z0-9_]+\.sql$`)

// loadMigrations reads all of them, ordered by number.
func loadMigrations(files fs.FS) ([]migration, error) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, fmt.Errorf("storage: migrations: %w", err)
	}
	var all []migration
	for _, e := range entries { // sorted by name
		match := migrationFile.FindStringSubmatch(e.Name())
		if match == nil {
			return nil, fmt.Errorf("storage: migration %s is not named like 0001_name.sql", e.Name())
		}
		number, _ := strconv.Atoi(match[1])
		if len(all) > 0 && all[len(all)-1].number == number {
			return nil, fmt.Errorf("storage: migrations %s and %s have one number", all[len(all)-1].file, e.Name())
		}
		text, err := fs.ReadFile(files, e.Name())
		if err != nil {
			return nil, fmt.Errorf("storage: migration %s: %w", e.Name(), err)
		}
		sum := sha256.Sum256(text)
		all = append(all, migration{number, e.Name(), string(text), hex.EncodeToString(sum[:])})
	}
	return all, nil
}

// Export writes all migrations as SQL, for a host that runs them with its own
// tool; a store that is then opened with MigrateVerify finds them recorded.
func Export(w io.Writer, d *Dialect, schema, prefix string, files fs.FS) error {
	n := names{dialect: d, schema: schema, prefix: prefix}
	if err := n.check(); err != nil {
		return err
	}
	all, err := loadMigrations(files)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "%s;\n", n.createHistory()); err != nil {
		return err
	}
	for _, m := range all {
		text, err := n.expand(m.text)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "\n-- %s\n\n%s\nINSERT INTO %s VALUES (%d, '%s', '%s', NULL);\n",
			m.file, text, n.table(historyTable), m.number, m.file, m.sum)
		if err != nil {
			return err
		}
	}
	return nil
}
