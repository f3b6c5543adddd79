package report

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/states"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Service keeps subscriptions and serves their runs. Its methods may be called
// from any number of goroutines, and any number of processes may work on one
// store.
type Service struct {
	store     storage.Store
	tx        storage.Tx // set in a bound copy
	scheduler *automation.Scheduler
	out       *notify.Notifier
	opts      Options
	types     *types
}

// Options are for [New]; every zero value is useful.
type Options struct {
	// Keep is for how long the files of a run can be opened; default 90 days. What
	// a message carries as an attachment is kept with the message.
	Keep time.Duration
}

// defaultKeep is how long a link stays good.
const defaultKeep = 90 * 24 * time.Hour

// types are those that are registered; bound copies share them.
type types struct {
	mu     sync.RWMutex
	byName map[string]Type
}

func (t *types) get(name string) (Type, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	found, ok := t.byName[name]
	return found, ok
}

// New returns a service on store, whose runs s makes due and out delivers; both
// work on the same store. The Poller that s is given to runs them: make it afterwards, so
// that it erases people from subscriptions, too. opts may be nil. It panics if another argument is, or on a negative Keep.
func New(store storage.Store, s *automation.Scheduler, out *notify.Notifier, opts *Options) *Service {
	if store == nil || s == nil || out == nil {
		panic("report: New needs a store, a scheduler and a notifier")
	}
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Keep < 0 {
		panic("report: New: a negative Keep")
	}
	o.Keep = cmp.Or(o.Keep, defaultKeep)
	s.ScanReports(candidates, sweep.Rules{Domain: "automation/report", People: erasures()})
	return &Service{store: store, scheduler: s, out: out, opts: o, types: &types{byName: map[string]Type{}}}
}

// WithTx returns a copy of s whose subscriptions are read and written inside tx, a
// transaction of the same store: they and their due work commit or vanish with
// it. It panics on a transaction of another store.
func (s *Service) WithTx(tx storage.Tx) *Service {
	if tx == nil || !driver.Same(tx.Store(), s.store) {
		panic("report: WithTx needs a transaction of the service's own store")
	}
	bound := *s
	bound.tx, bound.scheduler, bound.out = tx, s.scheduler.WithTx(tx), s.out.WithTx(tx)
	return &bound
}

// inTx runs f with a copy of s that is bound to the transaction, or to one of its
// own. f may run again.
func (s *Service) inTx(ctx context.Context, f func(s *Service) error) error {
	return s.scheduler.InHostTx(ctx, func(scheduler *automation.Scheduler, tx storage.Tx) error {
		bound := *s
		bound.tx, bound.scheduler = tx, scheduler
		return f(&bound)
	})
}

// read runs f in the bound transaction, else over the committed rows of one moment,
// for which it waits for no writer. f may run again.
func (s *Service) read(ctx context.Context, f func(driver.Reader) error) error {
	if s.tx != nil {
		return f(s.tx)
	}
	return s.store.View(ctx, f)
}

func (s *Service) now() time.Time { return driver.Now(s.store) }

// States gives the state machines of this package, for the documentation.
func States() []states.Machine { return []states.Machine{machine} }

// Schemas lists the tables of this package, so that adapters' tests can compare
// them with a live database.
func Schemas() []*driver.Schema { return []*driver.Schema{&subscriptions.Schema} }

// NewGUID makes an id for a subscription or for a run that a person asks for: a
// UUID of version 7 from the store's clock and randomness, so that ids sort by
// their time.
func (s *Service) NewGUID() (string, error) {
	var u [16]byte
	if _, err := io.ReadFull(s.store.Rand(), u[6:]); err != nil {
		return "", fmt.Errorf("report: NewGUID: %w", err)
	}
	ms := uint64(s.now().UnixMilli())
	binary.BigEndian.PutUint32(u[:4], uint32(ms>>16))
	binary.BigEndian.PutUint16(u[4:6], uint16(ms))
	u[6] = u[6]&0x0f | 0x70 // version 7
	u[8] = u[8]&0x3f | 0x80 // the variant of RFC 9562
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:]), nil
}
