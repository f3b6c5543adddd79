package sqlstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
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
	n := naming{Dialect: d, Schema: schema, Prefix: prefix}
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
		_, err = fmt.Fprintf(w, "\n-- %s\n\n%s\n%s(%d, '%s', '%s', NULL);\n",
			m.file, text, n.record(), m.number, m.file, m.sum)
		if err != nil {
			return err
		}
	}
	return nil
}

// migrate does what Config.Migrate says.
func (s *Store) migrate(ctx context.Context) error {
	switch s.cfg.Migrate {
	case MigrateOff:
		return nil
	case "", MigrateAuto, MigrateVerify:
	default:
		return fmt.Errorf("storage: Migrate is %q instead of %q, %q or %q", s.cfg.Migrate, MigrateAuto, MigrateVerify, MigrateOff)
	}
	all, err := loadMigrations(s.cfg.Migrations)
	if err != nil {
		return err
	}
	var missing []migration
	err = s.transact(ctx, func(db *session) (err error) {
		missing, err = s.missing(ctx, db, all)
		return err
	})
	if err != nil || len(missing) == 0 {
		return err
	}
	if s.cfg.Migrate == MigrateVerify {
		return fmt.Errorf("%w: the database lacks the migrations %s: run them (Open does, or Options.Migrate: MigrateAuto, or the command belfry migrate)", driver.ErrSchema, files(missing))
	}
	return s.apply(ctx, all)
}

func files(all []migration) string {
	names := make([]string, len(all))
	for i, m := range all {
		names[i] = m.file
	}
	return strings.Join(names, ", ")
}

// rest is how long a migration leaves a table alone that was in use. While it waits
// for the table itself, those who come later wait behind it.
const rest = time.Second

// transact runs f in a transaction of the store without a bound on lock
// time-outs: processes that start at once wait for each other until ctx ends.
func (s *Store) transact(ctx context.Context, f func(*session) error) error {
	return s.repeat(ctx, 0, func() (Class, error) {
		conn, err := s.begin(ctx, s.cfg.Writer, s.cfg.Dialect.begin)
		if err != nil {
			return classOf(err), err
		}
		if err := f(conn); err != nil {
			conn.rollback(ctx)
			if classOf(err) == LockTimeout {
				_ = s.cfg.Wait(ctx, rest) // whether ctx has ended is asked again
			}
			return classOf(err), err
		}
		err = conn.commit(ctx, conn.sayCommit)
		return classOf(err), err
	})
}

// apply runs what is missing, each migration in a transaction of its own under
// the lock row, so that it happens wholly and once; one that makes an index concurrently
// outside of any, and again until it is whole.
func (s *Store) apply(ctx context.Context, all []migration) error {
	err := s.transact(ctx, func(db *session) error {
		return s.execAll(ctx, db, "create "+historyTable, s.names.setUp())
	})
	if err != nil {
		return err
	}
	for _, m := range all {
		text, err := s.names.expand(m.text)
		if err != nil {
			return err
		}
		if m.isConcurrent() {
			err = s.applyConcurrently(ctx, m, text)
		} else {
			err = s.transact(ctx, func(db *session) error { return s.applyOne(ctx, db, m, text) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) applyOne(ctx context.Context, db *session, m migration, text string) error {
	if err := s.execAll(ctx, db, "lock "+historyTable, s.names.lockHistory()); err != nil {
		return err
	}
	missing, err := s.missing(ctx, db, []migration{m})
	if err != nil || len(missing) == 0 {
		return err
	}
	if !m.isConcurrent() { // else it was run before
		texts := append(s.cfg.Dialect.lockTimeout(), text)
		if err := s.execAll(ctx, db, "migration "+m.file, texts); err != nil {
			return err
		}
	}
	record := s.names.applied(m.number, m.file, m.sum, driver.Time(s.cfg.Clock.Now()))
	if _, err := db.Exec(s.inside(ctx), record.text, record.args...); err != nil {
		return s.failed(ctx, "record "+m.file, err)
	}
	return nil
}

func (s *Store) execAll(ctx context.Context, db *session, op string, texts []string) error {
	for _, text := range texts {
		if _, err := db.Exec(s.inside(ctx), text); err != nil {
			return s.failed(ctx, op, err)
		}
	}
	return nil
}

// missing returns which of all are not recorded, and refuses those that are with
// another checksum. Migrations that only the database knows are those of a newer
// version of this program.
func (s *Store) missing(ctx context.Context, db *session, all []migration) ([]migration, error) {
	sums, err := s.applied(ctx, db)
	if err != nil {
		return nil, err
	}
	var missing []migration
	for _, m := range all {
		sum, ok := sums[m.number]
		switch {
		case !ok:
			missing = append(missing, m)
		case sum != m.sum:
			return nil, fmt.Errorf("%w: migration %s was applied with checksum %s, but here it has %s: applied migrations must not be edited", driver.ErrSchema, m.file, sum, m.sum)
		}
	}
	return missing, nil
}

// applied returns the recorded checksums by number; none if there is no table.
func (s *Store) applied(ctx context.Context, db *session) (map[int]string, error) {
	sums := map[int]string{}
	found, has := false, s.names.hasHistory()
	err := db.Query(s.inside(ctx), has.text, has.args, func(r Rows) error {
		for r.Next() {
			if err := r.Scan(&found); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && found {
		err = db.Query(s.inside(ctx), s.names.history(), nil, func(r Rows) error {
			var number int
			var sum string
			for r.Next() {
				if err := r.Scan(&number, &sum); err != nil {
					return err
				}
				sums[number] = sum
			}
			return nil
		})
	}
	if err != nil {
		return nil, s.failed(ctx, "read "+historyTable, err)
	}
	return sums, nil
}
