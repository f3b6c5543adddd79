// Package audit is the insert-only record of what was done to rows, by people
// and beside the happy path by programs: who, what, when and why. An entry is
// written in the transaction of the change that it tells of, so that neither
// exists without the other.
package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Entry is one change that somebody made to one row. It is never due, claimed or
// written again.
type Entry struct {
	storage.Record
	// Subject is the table, SubjectKey the key of the row that was changed.
	Subject    string `db:"subject,fixed,plain"`
	SubjectKey string `db:"subject_key,fixed,person"`
	// SubjectID is the row's ID, which is a part of the entry's key only: a row that
	// was deleted and made again begins with its versions anew. Not read back.
	SubjectID int64
	// SubjectVersion is the version that the change gave to the row.
	SubjectVersion int64 `db:"subject_version,fixed"`
	// Action is what was done: "Hold", "Deactivated".
	Action string `db:"action,fixed,plain"`
	Actor  string `db:"actor,fixed,person"`
	Reason string `db:"reason,fixed,content"`
	// From and To are the statuses before and after.
	From string    `db:"from_status,fixed,plain"`
	To   string    `db:"to_status,fixed,plain"`
	On   time.Time `db:"done_on,fixed"`
}

// FirstVersion is the version of a row that was just made.
const FirstVersion = 1

// Table is where entries are kept. Nothing but Write inserts into it.
var Table = driver.Define[Entry]("audit_entry").Grows(driver.WithWork).
	Kept("Retention.Audit", "who did what, and why").Limit(8 << 10)

// Write inserts entries. Each has its Scope, Subject, SubjectKey, SubjectID and
// SubjectVersion, which make its key: one version of a row has one entry, and
// the entries of a row are in a range of the key index in the order of its
// versions. Only who made a row may be told more than once, and the first stands:
// whoever is about to overwrite it in the row does so.
func Write(ctx context.Context, tx storage.Tx, entries ...*Entry) error {
	for _, e := range entries {
		e.Key = rowPrefix(e.Subject, e.SubjectKey) + fmt.Sprintf("%019d\x1f%019d", e.SubjectID, e.SubjectVersion)
	}
	inserted, err := Table.Insert(ctx, tx, entries...)
	if err != nil {
		return err
	}
	for i, ok := range inserted {
		if !ok && entries[i].SubjectVersion != FirstVersion {
			return fmt.Errorf("audit: version %d of %s has an entry already", entries[i].SubjectVersion, entries[i].Subject)
		}
	}
	return nil
}

// Options change how a support action works.
type Options struct {
	// DryRun answers the same and writes nothing.
	DryRun bool
}

// IsDry reports whether o asks for a dry run; nil does not.
func IsDry(o *Options) bool { return o != nil && o.DryRun }

// rowPrefix begins the keys of a row's entries.
func rowPrefix(subject, subjectKey string) string { return subject + "\x1f" + subjectKey + "\x1f" }

// History returns the last entries of a row, at most limit, the oldest of them
// first.
func History(ctx context.Context, from driver.Reader, scope storage.Scope, subject, subjectKey string, limit int) ([]*Entry, error) {
	prefix := rowPrefix(subject, subjectKey)
	last, err := Table.Find(ctx, from, scope, driver.Query{
		Where: []driver.Cond{
			driver.Greater("key", prefix), driver.Less("key", prefix+":"), // ':' follows the digits
			driver.Eq("subject_key", subjectKey), // another key may go on where this one ends
		},
		OrderBy: "key", Desc: true, Limit: limit,
	})
	slices.Reverse(last)
	return last, err
}

// By says who acts and why. Both are required, in at most 200 and 1000 bytes of
// valid UTF-8.
type By struct {
	Actor  string // a person or program that can be found again
	Reason string // for whoever asks later
}

// Check refuses a By from which nobody would learn anything.
func (b By) Check() error {
	return errors.Join(check("actor", b.Actor, 200), check("reason", b.Reason, 1000))
}

func check(field, text string, most int) error {
	switch {
	case text == "":
		return fmt.Errorf("audit: no %s is given", field)
	case len(text) > most:
		return fmt.Errorf("audit: the %s has %d bytes, more than %d", field, len(text), most)
	case !utf8.ValidString(text):
		return fmt.Errorf("audit: the %s is not valid UTF-8", field)
	}
	return nil
}

// Rewrite writes rows with columns that are fixed otherwise, each with an entry of the
// action beside it. It is the one way to do that.
func Rewrite[R any](ctx context.Context, tx storage.Tx, w *driver.Rewriting[R], action string, by By, rows ...*R) error {
	if err := by.Check(); err != nil {
		return err
	}
	if err := w.Save(ctx, tx, rows...); err != nil {
		return err
	}
	entries, now := make([]*Entry, len(rows)), driver.Now(tx.Store())
	for i, row := range rows {
		rec := w.Table().Record(row)
		entries[i] = &Entry{
			Record: storage.Record{Scope: rec.Scope}, Subject: w.Table().Name, SubjectKey: rec.Key, SubjectID: rec.ID,
			SubjectVersion: rec.Version, Action: action, Actor: by.Actor, Reason: by.Reason, From: rec.Status, To: rec.Status, On: now,
		}
	}
	return Write(ctx, tx, entries...)
}

// ErrActionRefused says that an action makes no sense for a row as it is now.
var ErrActionRefused = errors.New("support action refused")

// Change lets somebody change one row, and writes the audit beside it. change
// returns why it refuses, or nothing. The error wraps [ErrActionRefused], or
// storage.ErrNotFound where scope has no such key.
func Change[R any](ctx context.Context, tx storage.Tx, t *driver.Table[R], scope storage.Scope, key, action string, by By,
	change func(row *R, now time.Time) (refused string)) error {
	if err := by.Check(); err != nil {
		return err
	}
	return driver.Again(action+" of "+key+": the row", func() error { // a claim may come between
		return changeOnce(ctx, tx, t, scope, key, action, by, change)
	})
}

func changeOnce[R any](ctx context.Context, tx storage.Tx, t *driver.Table[R], scope storage.Scope, key, action string, by By,
	change func(*R, time.Time) string) error {
	row, err := t.Get(ctx, tx, scope, key)
	if err != nil {
		return fmt.Errorf("%s of %s: %w", action, key, err)
	}
	rec := t.Record(row)
	now, from := driver.Now(tx.Store()), rec.Status
	if stub, ok := any(row).(interface{ IsStub() bool }); ok && stub.IsStub() {
		return fmt.Errorf("%w: %s of %s: it was forgotten", ErrActionRefused, action, key)
	}
	if refused := change(row, now); refused != "" {
		return fmt.Errorf("%w: %s of %s: %s", ErrActionRefused, action, key, refused)
	}
	if err := t.Save(ctx, tx, row); err != nil {
		return err
	}
	return Write(ctx, tx, &Entry{
		Record: storage.Record{Scope: scope}, Subject: t.Name, SubjectKey: key, SubjectID: rec.ID, SubjectVersion: rec.Version,
		Action: action, Actor: by.Actor, Reason: by.Reason, From: from, To: rec.Status, On: now,
	})
}
