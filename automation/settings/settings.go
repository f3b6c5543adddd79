package settings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Settings reads and writes settings in a store. It is safe for concurrent use. It
// implements automation.SettingsSource in the batch form.
type Settings struct {
	store  storage.Store
	tx     storage.Tx // set in a bound copy
	opts   Options
	marked *[]automation.Replan // the marks of a Change; nil outside of one
	by     *automation.By       // set in a copy of As
}

var (
	_ automation.SettingsSource      = (*Settings)(nil)
	_ automation.BatchSettingsSource = (*Settings)(nil)
)

// Options are for [New]. All zero values mean the defaults.
type Options struct {
	// Types are the allowed reminder types. SaveReminder refuses others, since no program
	// would use such a setting. Empty: all types.
	Types []string
}

// New returns the settings in store. opts may be nil. It panics if store is nil.
func New(store storage.Store, opts *Options) *Settings {
	if store == nil {
		panic("settings: New needs a store")
	}
	s := &Settings{store: store}
	if opts != nil {
		s.opts = *opts
	}
	return s
}

// WithTx returns a copy of s that reads and writes inside tx, a transaction of the same
// store. Its changes commit or roll back with tx. It panics on a transaction of another
// store.
func (s *Settings) WithTx(tx storage.Tx) *Settings {
	if tx == nil || !driver.Same(tx.Store(), s.store) {
		panic("settings: WithTx needs a transaction of the settings' own store")
	}
	bound := *s
	bound.tx = tx
	return &bound
}

// As returns a copy of s whose saves are audited, with who saves and why. Unchanged
// settings are not written and not audited. A by that the audit cannot store is an error
// of the save.
func (s *Settings) As(by automation.By) *Settings {
	theirs := *s
	theirs.by = &by
	return &theirs
}

// inTx runs f in the bound transaction, in the transaction of a scheduler's call, or in a
// new one. f may run again.
func (s *Settings) inTx(ctx context.Context, f func(storage.Tx) error) error {
	if tx := s.within(ctx); tx != nil {
		return f(tx)
	}
	return s.store.InTx(ctx, f)
}

// read runs f in the same transactions, or else in a view of the committed rows, which
// does not wait for writers. f may run again.
func (s *Settings) read(ctx context.Context, f func(driver.Reader) error) error {
	if tx := s.within(ctx); tx != nil {
		return f(tx)
	}
	return s.store.View(ctx, f)
}

// Change saves and previews in one call. f saves with a copy of s that is bound to a
// transaction: that of s, or a new one. The answer says how many rows will change, like
// automation.Maintenance.PreviewReplan. The re-plan begins after the commit. After an
// error of f or of a look-up nothing was saved if the transaction was Change's own. f may
// run again.
func (s *Settings) Change(ctx context.Context, reminders *automation.Scheduler, f func(bound *Settings) error) (automation.ReconcileReport, error) {
	var report automation.ReconcileReport
	err := s.inTx(ctx, func(tx storage.Tx) (err error) {
		bound := s.WithTx(tx)
		bound.marked = new([]automation.Replan)
		if err := f(bound); err != nil {
			return err
		}
		report, err = reminders.WithTx(tx).Maintenance().PreviewReplan(ctx, *bound.marked...)
		return err
	})
	return report, err
}

// mark marks the rows that a save affects for a re-plan.
func (s *Settings) mark(ctx context.Context, tx storage.Tx, what automation.Replan) error {
	if s.marked != nil {
		*s.marked = append(*s.marked, what)
	}
	return automation.MarkReplan(ctx, tx, what)
}

// within is the transaction that s is bound to, or that of a scheduler's call; nil:
// neither.
func (s *Settings) within(ctx context.Context) storage.Tx {
	if s.tx != nil {
		return s.tx
	}
	if tx, ok := automation.TxOf(ctx); ok && driver.Same(tx.Store(), s.store) {
		return tx
	}
	return nil
}

// Schemas lists the tables of this package, so that adapters' tests can compare
// them with a live database.
func Schemas() []*driver.Schema {
	return []*driver.Schema{&reminders.Schema, &notifications.Schema, &units.Schema}
}

// Setting returns the reminder setting with that id for a scheduler: Data is the
// [ReminderSetting]. An unknown id is not Active.
func (s *Settings) Setting(ctx context.Context, scope automation.Scope, id string) (automation.Setting, error) {
	all, err := s.Settings(ctx, scope, []string{id})
	if err != nil {
		return automation.Setting{}, err
	}
	return all[0], nil
}

// Settings is Setting for many ids, in their order, in one statement.
func (s *Settings) Settings(ctx context.Context, scope automation.Scope, ids []string) ([]automation.Setting, error) {
	out := make([]automation.Setting, len(ids))
	err := s.read(ctx, func(from driver.Reader) error {
		rows, err := findAll(ctx, from, reminders, scope, ids)
		for i, id := range ids {
			out[i] = automation.Setting{ID: id}
			if r, ok := rows[id]; ok {
				out[i].Active, out[i].Version, out[i].Data = r.Active, r.Version, r.setting()
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	return out, nil
}

// Zone returns the zone of a business unit, for automation.Options. For an unknown unit
// it is empty, so the type's zone counts.
func (s *Settings) Zone(ctx context.Context, scope automation.Scope, businessUnit string) (string, error) {
	if businessUnit == "" {
		return "", nil
	}
	u, _, err := s.unit(ctx, scope, businessUnit)
	return u.Zone, err
}

// BusinessDay moves a day by the calendar of a business unit, for
// automation.ReminderType. For an unknown unit the day stays.
func (s *Settings) BusinessDay(ctx context.Context, scope automation.Scope, businessUnit string, d automation.Date) (automation.Date, error) {
	if businessUnit == "" {
		return d, nil
	}
	u, _, err := s.unit(ctx, scope, businessUnit)
	if err != nil {
		return automation.Date{}, err
	}
	moved := u.Calendar.Move(d)
	if moved.IsZero() {
		return automation.Date{}, fmt.Errorf("settings: business unit %.60q has no business day near %s", businessUnit, d)
	}
	return moved, nil
}

// list returns a page of settings, and where the next page begins: empty after the last.
func list[R, T any](ctx context.Context, s *Settings, t *driver.Table[R], scope storage.Scope, rowType string, p storage.Page, of func(*R) T) (out []T, next string, err error) {
	err = s.read(ctx, func(from driver.Reader) error {
		rows, after, err := listRows(ctx, from, t, scope, rowType, p)
		out, next = nil, after
		for _, r := range rows {
			out = append(out, of(r))
		}
		return err
	})
	return out, next, err
}

// listRows returns a page of rows, and where the next page begins: empty after the last.
func listRows[R any](ctx context.Context, from driver.Reader, t *driver.Table[R], scope storage.Scope, rowType string, p storage.Page) ([]*R, string, error) {
	if !storable.Text(rowType) {
		return nil, "", errors.New("settings: list: the type is not valid text: it must be UTF-8 without NUL")
	}
	var where []driver.Cond
	if rowType != "" {
		where = append(where, driver.Eq("kind", rowType))
	}
	return t.Page(ctx, from, scope, p, driver.Query{Where: where})
}

// find returns the row with that key, or nil. An impossible key is not looked up.
func find[R any](ctx context.Context, from driver.Reader, t *driver.Table[R], scope storage.Scope, key string) (*R, error) {
	if !storable.Text(key) {
		return nil, t.CheckScope(scope)
	}
	row, err := t.Get(ctx, from, scope, key)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	return row, err
}

// findAll returns the existing rows by key, in one statement.
func findAll[R any](ctx context.Context, from driver.Reader, t *driver.Table[R], scope storage.Scope, keys []string) (map[string]*R, error) {
	keys = slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == "" || !storable.Text(k) })
	if len(keys) == 0 {
		return nil, t.CheckScope(scope)
	}
	rows, err := t.Find(ctx, from, scope, driver.Query{Where: []driver.Cond{driver.In("key", keys)}, Limit: len(keys)})
	out := map[string]*R{}
	for _, r := range rows {
		out[t.Record(r).Key] = r
	}
	return out, err
}

// sayer is a row that can be compared with another one.
type sayer[R any] interface {
	*R
	says(other *R) bool
}

// put makes want the stored row and returns it. It writes nothing if stored has the same
// content, inserts want if stored is nil, and otherwise updates stored, if that is the
// version that the caller read.
func put[R any, P sayer[R]](ctx context.Context, s *Settings, tx storage.Tx, t *driver.Table[R], stored, want *R, version int64) (*R, error) {
	if stored != nil && P(stored).says(want) {
		return stored, nil
	}
	if err := write(ctx, tx, t, stored, want, version); err != nil {
		return nil, err
	}
	return want, s.audited(ctx, tx, t.Name, t.Record(want))
}

// audited writes the audit entry of a save, if there is an actor.
func (s *Settings) audited(ctx context.Context, tx storage.Tx, table string, row *storage.Record) error {
	if s.by == nil {
		return nil
	}
	if err := s.by.Check(); err != nil {
		return err
	}
	return audit.Write(ctx, tx, &audit.Entry{
		Record: storage.Record{Scope: row.Scope}, Subject: table, SubjectKey: row.Key, SubjectID: row.ID, SubjectVersion: row.Version,
		Action: "Save", Actor: s.by.Actor, Reason: s.by.Reason, On: driver.Now(tx.Store()),
	})
}

func write[R any](ctx context.Context, tx storage.Tx, t *driver.Table[R], stored, want *R, version int64) error {
	rec := t.Record(want)
	if stored == nil {
		if version != 0 {
			return storage.ErrNotFound
		}
		inserted, err := t.Insert(ctx, tx, want)
		if err == nil && !inserted[0] {
			return storage.ErrStale
		}
		return err
	}
	found := t.Record(stored)
	if found.Version != version {
		return fmt.Errorf("read with version %d, stored with %d: %w", version, found.Version, storage.ErrStale)
	}
	rec.ID, rec.Version = found.ID, found.Version
	return t.Save(ctx, tx, want)
}

// wrap adds the setting to an error.
func wrap(kind, id string, err error) error {
	var invalid *InvalidError
	if err == nil || errors.As(err, &invalid) {
		return err
	}
	return fmt.Errorf("settings: %s %.60q: %w", kind, id, err)
}

// rewrite changes a stored row and retries on a concurrent write. change reports whether
// there is something to write.
func rewrite[R any](ctx context.Context, tx storage.Tx, t *driver.Table[R], scope storage.Scope, key string, change func(*R) bool) error {
	return driver.RetryStale("the setting", func() error {
		row, err := find(ctx, tx, t, scope, key)
		switch {
		case err != nil:
			return err
		case row == nil:
			return storage.ErrNotFound
		case !change(row):
			return nil
		}
		return t.Save(ctx, tx, row)
	})
}

// sameDocument reports whether two documents are stored as the same text.
func sameDocument[D any](a, b D) bool {
	return string(mustJSON(a)) == string(mustJSON(b))
}

func mustJSON(d any) []byte {
	text, err := json.Marshal(d)
	if err != nil {
		panic(err) // documents consist of checked texts, numbers and dates
	}
	return text
}
