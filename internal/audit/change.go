package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// ErrRefused says that an action makes no sense for a row as it is now.
var ErrRefused = errors.New("support action refused")

// Change lets somebody change one row, and writes the audit beside it. change
// returns why it refuses, or nothing. The error wraps [ErrRefused], or
// storage.ErrNotFound where scope has no such key.
func Change[R any](ctx context.Context, tx storage.Tx, t *storage.Table[R], scope storage.Scope, key, action string, by By,
	change func(row *R, now time.Time) (refused string)) error {
	if err := by.Check(); err != nil {
		return err
	}
	for range 5 { // a claim may come between
		err := changeOnce(ctx, tx, t, scope, key, action, by, change)
		if !errors.Is(err, storage.ErrStale) {
			return err
		}
	}
	return fmt.Errorf("%s of %s: the row kept changing: %w", action, key, storage.ErrBusy)
}

func changeOnce[R any](ctx context.Context, tx storage.Tx, t *storage.Table[R], scope storage.Scope, key, action string, by By,
	change func(*R, time.Time) string) error {
	row, err := t.Get(ctx, tx, scope, key)
	if err != nil {
		return fmt.Errorf("%s of %s: %w", action, key, err)
	}
	rec := t.Record(row)
	now, from := storage.Now(tx.Store()), rec.Status
	if refused := change(row, now); refused != "" {
		return fmt.Errorf("%w: %s of %s: %s", ErrRefused, action, key, refused)
	}
	if err := t.Save(ctx, tx, row); err != nil {
		return err
	}
	return Write(ctx, tx, &Entry{
		Record: storage.Record{Scope: scope}, Subject: t.Name, SubjectKey: key, SubjectID: rec.ID, SubjectVersion: rec.Version,
		Action: action, Actor: by.Actor, Reason: by.Reason, From: from, To: rec.Status, On: now,
	})
}
