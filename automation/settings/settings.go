package settings

import (
	"context"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
)

// Settings reads and writes settings in a store. Its methods may be called from
// any number of goroutines. It is an automation.SettingsSource in the batch
// form.
type Settings struct {
	store storage.Store
	tx    storage.Tx // set in a bound copy
	opts  Options
}

var (
	_ automation.SettingsSource      = (*Settings)(nil)
	_ automation.BatchSettingsSource = (*Settings)(nil)
)

// Options are for [New]; every zero value is useful.
type Options struct {
	// Types are the reminder types that settings may be for: SaveReminder refuses
	// others, since nobody would ever look at such a setting. None: any.
	Types []string
}

// New returns the settings in store. opts may be nil. It panics if store is.
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

// WithTx returns a copy of s that reads and writes inside tx, a transaction of
// the same store: what it saves commits or vanishes with it. It panics on a
// transaction of another store.
func (s *Settings) WithTx(tx storage.Tx) *Settings {
	if tx == nil || tx.Store() != s.store {
		panic("settings: WithTx needs a transaction of the settings' own store")
	}
	bound := *s
	bound.tx = tx
	return &bound
}

// inTx runs f in the bound transaction, in the one inside which a scheduler of
// this store asks, or in one of its own. f may run again.
func (s *Settings) inTx(ctx context.Context, f func(storage.Tx) error) error {
	if s.tx != nil {
		return f(s.tx)
	}
	if tx, ok := automation.TxOf(ctx); ok && tx.Store() == s.store {
		return f(tx)
	}
	return s.store.InTx(ctx, f)
}

// Schemas lists the tables of this package, so that adapters' tests can compare
// them with a live database.
func Schemas() []*storage.Schema {
	return []*storage.Schema{&reminders.Schema, &notifications.Schema, &units.Schema}
}
