package sqlstore

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// concurrently begins a migration of PostgreSQL that makes an index while others write:
// its one statement runs outside a transaction.
const concurrently = "-- concurrently\n"

var concurrentIndex = regexp.MustCompile(`CREATE INDEX CONCURRENTLY IF NOT EXISTS "(\w+)" ON (\S+)`)

// applyConcurrently runs such a migration, and records it. A process that dies meanwhile
// leaves an index that is invalid, which the next one drops.
func (s *Store) applyConcurrently(ctx context.Context, m migration, text string) error {
	var missing []migration
	err := s.transact(ctx, func(db *session) (err error) {
		missing, err = s.missing(ctx, db, []migration{m})
		return err
	})
	if err != nil || len(missing) == 0 {
		return err
	}
	names := concurrentIndex.FindStringSubmatch(text)
	if names == nil {
		return fmt.Errorf("storage: migration %s makes no index concurrently, if there is none", m.file)
	}
	err = s.repeat(ctx, 0, func() (Class, error) {
		err := s.makeIndex(ctx, m, text, s.names.invalid(names[1], names[2]))
		return classOf(err), err
	})
	if err != nil {
		return err
	}
	return s.transact(ctx, func(db *session) error { return s.applyOne(ctx, db, m, text) })
}

// makeIndex waits for another that makes the same index, since both lock the table against each
// other (and against no reader or writer of it). So what is invalid then was left
// behind, or is dropped by another process for the same reason, and made again by both.
func (s *Store) makeIndex(ctx context.Context, m migration, text string, invalid statement) error {
	db, err := s.open(ctx, s.cfg.Writer)
	if err != nil {
		return err
	}
	broken := true
	defer func() { _ = db.Release(broken) }() // it has no transaction whose end could be in doubt
	for {
		if _, err := db.Exec(ctx, text); err != nil {
			return s.failed(ctx, "migration "+m.file, err)
		}
		left := ""
		err := db.Query(ctx, invalid.text, invalid.args, func(r Rows) error {
			for r.Next() {
				if err := r.Scan(&left); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return s.failed(ctx, "migration "+m.file, err)
		}
		if left == "" {
			broken = false
			return nil
		}
		if _, err := db.Exec(ctx, "DROP INDEX CONCURRENTLY IF EXISTS "+left); err != nil {
			return s.failed(ctx, "migration "+m.file, err)
		}
	}
}

// isConcurrent says that a migration runs outside a transaction.
func (m migration) isConcurrent() bool { return strings.HasPrefix(m.text, concurrently) }
