package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/belfry-go/belfry/storage"
)

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
		return fmt.Errorf("storage: the database lacks the migrations %s: run them, or open it with Migrate %q", files(missing), MigrateAuto)
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

// transact runs f in a transaction of the store without a bound on lock
// time-outs: processes that start at once wait for each other until ctx ends.
func (s *Store) transact(ctx context.Context, f func(*session) error) error {
	return s.repeat(ctx, 0, func() (Class, error) {
		conn, err := s.begin(ctx)
		if err != nil {
			return classOf(err), err
		}
		if err := f(conn); err != nil {
			conn.rollback(ctx)
			return classOf(err), err
		}
		err = conn.commit(ctx)
		return classOf(err), err
	})
}

// apply runs what is missing, each migration in a transaction of its own under
// the lock row, so that it happens wholly and once.
func (s *Store) apply(ctx context.Context, all []migration) error {
	err := s.transact(ctx, func(db *session) error {
		return s.execAll(ctx, db, "create "+historyTable, append(s.cfg.Dialect.catalog.setUp(s.names), s.names.createHistory()))
	})
	if err != nil {
		return err
	}
	for _, m := range all {
		text, err := s.names.expand(m.text)
		if err != nil {
			return err
		}
		err = s.transact(ctx, func(db *session) error { return s.applyOne(ctx, db, m, text) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) applyOne(ctx context.Context, db *session, m migration, text string) error {
	history := s.names.table(historyTable)
	if err := s.execAll(ctx, db, "lock "+historyTable, s.cfg.Dialect.catalog.lockHistory(history)); err != nil {
		return err
	}
	missing, err := s.missing(ctx, db, []migration{m})
	if err != nil || len(missing) == 0 {
		return err
	}
	if err := s.execAll(ctx, db, "migration "+m.file, []string{text}); err != nil {
		return err
	}
	record := s.cfg.Dialect.rebind("INSERT INTO " + history + " VALUES (?, ?, ?, ?)")
	now := s.cfg.Dialect.verbs.value(storage.Time(s.cfg.Clock.Now()))
	if _, err := db.ExecContext(s.inside(ctx), record, m.number, m.file, m.sum, now); err != nil {
		return s.failed(ctx, "record "+m.file, err)
	}
	return nil
}

func (s *Store) execAll(ctx context.Context, db *session, op string, texts []string) error {
	for _, text := range texts {
		if _, err := db.ExecContext(s.inside(ctx), text); err != nil {
			return s.failed(ctx, op, err)
		}
	}
	return nil
}
