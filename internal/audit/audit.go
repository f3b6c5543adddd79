// Package audit is the insert-only record of changes to rows, by people and, outside of
// normal processing, by programs: who, what, when and why. An entry is written in the
// transaction of its change, so that neither exists without the other.
//
// Entries contain no personal data: rows, whose keys may be personal, and actors are
// named by pseudonyms. A second table has the real keys, names and reasons, and they can
// be erased there. So a database may forbid to change or delete entries.
package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Entry is one change of one row. It is never due, claimed or written again. Its personal
// fields are not stored in it, but in [People].
type Entry struct {
	storage.Record
	// Subject is the table, SubjectKey and SubjectID the key and the ID of the changed row.
	// The entry's Key has a pseudonym for them.
	Subject    string `db:"subject,fixed,plain"`
	SubjectKey string
	SubjectID  int64
	// SubjectVersion is the version that the change gave to the row.
	SubjectVersion int64 `db:"subject_version,fixed"`
	// Action names the change: "Hold", "Deactivated".
	Action string `db:"action,fixed,plain"`
	// Actor made it, Reason says why: a person's words or, with ByProgram, a program's code
	// without personal data. Empty if they were erased.
	Actor, Reason string
	ByProgram     bool
	// Program and Code are a program's Actor and Reason as they are stored, Person is the
	// pseudonym of a person. They belong to this package.
	Program string `db:"program,fixed,plain"`
	Code    string `db:"code,fixed,plain"`
	Person  string `db:"person,fixed,null,indexed,plain"`
	// From and To are the statuses before and after.
	From string    `db:"from_status,fixed,plain"`
	To   string    `db:"to_status,fixed,plain"`
	On   time.Time `db:"done_on,fixed"`
}

// FirstVersion is the version of a row that was just made.
const FirstVersion = 1

// Table has the entries. Only Write inserts into it, and only retention deletes from it.
var Table = driver.Define[Entry]("audit_entry").Grows(driver.WithWork).
	Kept("Retention.Audit", "what was done; who did it, to which row and in what words is in `audit_person`").Limit(8 << 10)

// Schemas lists the tables of this package.
func Schemas() []*driver.Schema { return []*driver.Schema{&Table.Schema, &People.Schema} }

// Write inserts entries. Each has its Scope, Subject, SubjectKey, SubjectID and
// SubjectVersion, which make its key: one version of a row has one entry, and the entries
// of a row are in a range of the key index in the order of its versions. Only the maker
// of a row may be written more than once, by code that is about to overwrite it in the
// row; the first one counts.
func Write(ctx context.Context, tx storage.Tx, entries ...*Entry) error {
	if len(entries) == 0 {
		return nil
	}
	if err := hide(ctx, tx, entries); err != nil {
		return err
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
	// DryRun returns the same answer and writes nothing.
	DryRun bool
}

// IsDry reports whether o asks for a dry run; nil does not.
func IsDry(o *Options) bool { return o != nil && o.DryRun }

// History returns the last entries of the rows that had a key, at most limit, the oldest
// first. Erased entries are left out.
func History(ctx context.Context, from driver.Reader, scope storage.Scope, subject, subjectKey string, limit int) ([]*Entry, error) {
	of := Row{subject, subjectKey}
	all, err := Histories(ctx, from, scope, []Row{of}, limit)
	return all[of], err
}

// Row names a row: its table and key.
type Row struct{ Subject, Key string }

// Histories is [History] of each of some rows, in as many statements as of one.
func Histories(ctx context.Context, from driver.Reader, scope storage.Scope, of []Row, limit int) (map[Row][]*Entry, error) {
	keys := make([]string, len(of))
	for i, r := range of {
		keys[i] = rowsKey(r.Subject, r.Key)
	}
	named, err := People.FindChildren(ctx, from, scope, keys, driver.Query{ // most have one, none that is before the limit is left out
		Where: []driver.Cond{driver.Eq("kind", kindRow)}, Columns: []string{"pseudonym"}, Desc: true, Limit: limit,
	})
	if err != nil {
		return nil, err
	}
	var pseudonyms []string
	for _, rows := range named {
		for _, p := range rows {
			pseudonyms = append(pseudonyms, p.Pseudonym)
		}
	}
	entries, err := Table.FindChildren(ctx, from, scope, pseudonyms, driver.Query{Desc: true, Limit: limit})
	if err != nil {
		return nil, err
	}
	out, all := make(map[Row][]*Entry, len(of)), []*Entry(nil)
	for i, r := range of {
		var last []*Entry
		for _, p := range named[keys[i]] {
			for _, e := range entries[p.Pseudonym] {
				e.SubjectKey, e.SubjectID = r.Key, p.subjectID()
				last = append(last, e)
			}
		}
		last = last[:min(len(last), limit)]
		slices.Reverse(last)
		out[r], all = last, append(all, last...)
	}
	return out, show(ctx, from, scope, all)
}

// window is how many ids of all tenants [Newest] looks at for a page, so that a tenant that
// does little costs no more than one that does much.
const window = 5000

// Newest lists the entries of a scope, the newest first, and returns where the next page
// begins; empty after the last. A short or empty page may have a next one.
func Newest(ctx context.Context, from driver.Reader, scope storage.Scope, p storage.Page) (out []Entry, next string, err error) {
	top, err := driver.ParsePosition(p.After)
	if err != nil || top != nil && top.Value != nil {
		return nil, "", driver.ErrPage
	}
	if top == nil {
		last, err := Table.Everywhere().Find(ctx, from, driver.Query{Columns: []string{"status"}, Desc: true, Limit: 1})
		if err != nil || len(last) == 0 {
			return nil, "", err
		}
		top = &driver.Position{ID: last[0].ID + 1}
	}
	floor := max(top.ID-window, 1)
	rows, err := Table.Find(ctx, from, scope, driver.Query{
		Where: []driver.Cond{driver.AtLeast("id", floor), driver.Less("id", top.ID)}, Desc: true, Limit: p.Size(),
	})
	if err != nil {
		return nil, "", err
	}
	if len(rows) == p.Size() {
		floor = rows[len(rows)-1].ID
	}
	if floor > 1 {
		next = driver.Position{ID: floor}.String()
	}
	if err := errors.Join(show(ctx, from, scope, rows), name(ctx, from, scope, rows)); err != nil {
		return nil, "", err
	}
	for _, r := range rows {
		out = append(out, *r)
	}
	return out, next, nil
}

// By says who acts and why. Both are required, in at most 200 and 1000 bytes of
// valid UTF-8.
type By struct {
	Actor  string // a person or program that can be found again
	Reason string // for later readers
}

// Check refuses a By without an actor or a reason.
func (b By) Check() error {
	problems := append(problemsOf("actor", b.Actor, 200), problemsOf("reason", b.Reason, 1000)...)
	if len(problems) == 0 {
		return nil
	}
	return errors.New("audit: " + strings.Join(problems, "; "))
}

func problemsOf(field, text string, most int) []string {
	switch {
	case text == "":
		return []string{"no " + field + " is given"}
	case len(text) > most:
		return []string{fmt.Sprintf("the %s has %d bytes, more than %d", field, len(text), most)}
	case !utf8.ValidString(text):
		return []string{"the " + field + " is not valid UTF-8"}
	}
	return nil
}

// Rewrite updates fixed columns of rows, each with an audit entry. It is the only way to
// update them.
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

// ErrActionRefused says that an action is not possible in a row's present state.
var ErrActionRefused = errors.New("support action refused")

// Change changes one row for a person and writes the audit entry. change returns why it
// refuses, or "". The error wraps [ErrActionRefused], or storage.ErrNotFound where scope
// has no such key.
func Change[R any](ctx context.Context, tx storage.Tx, t *driver.Table[R], scope storage.Scope, key, action string, by By,
	change func(row *R, now time.Time) (refused string)) error {
	if err := by.Check(); err != nil {
		return err
	}
	return driver.RetryStale(action+" of "+key+": the row", func() error { // a claim may come between
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
	if stub, ok := any(row).(interface{ IsTombstone() bool }); ok && stub.IsTombstone() {
		return fmt.Errorf("%w: %s of %s: its data was deleted by retention", ErrActionRefused, action, key)
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
