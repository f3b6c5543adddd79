package storetest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// What a [Spy] tells of: moments of transactions, and verbs.
const (
	Begin     = "begin"     // a transaction does not begin if the hook fails
	Commit    = "commit"    // its function succeeded; it is rolled back if the hook fails
	Committed = "committed" // the caller does not hear of it if the hook fails

	Insert = "insert"
	Select = "select"
	Get    = "get"
	Claim  = "claim"
	Update = "update"
	Extend = "extend"
	Delete = "delete"
	Count  = "count"
	Under  = "under"
	Tally  = "tally"
	Next   = "next" // of the store itself
)

// Call is what a store is about to be asked.
type Call struct {
	Verb    string
	Table   string // the name of the verb's schema
	Rows    []driver.Row
	Where   []driver.Cond
	Columns []string
	Lanes   []driver.LaneClaim // of a Claim
	Number  int                // of the transaction among those of the Spy, from 1
	Tx      storage.Tx         // of the store beneath, so that a hook is not told of what it does itself
}

// Spy is a store that tells its hook of every call before the store beneath has
// it. Where the hook fails the call fails with its error, and the store does not
// hear of it. Without a hook a Spy only counts transactions. It may be used by many
// goroutines, and so is its hook.
type Spy struct {
	storage.Store
	Hook  func(Call) error // SetHook changes it while the Spy is in use
	begun atomic.Int64
	mu    sync.Mutex
}

// SetHook gives the Spy another hook, or none.
func (s *Spy) SetHook(hook func(Call) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Hook = hook
}

func (s *Spy) hook() func(Call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Hook
}

// Begun counts the transactions that began, or were to begin.
func (s *Spy) Begun() int { return int(s.begun.Load()) }

// InTx runs f in a transaction that belongs to the Spy.
func (s *Spy) InTx(ctx context.Context, f func(storage.Tx) error) error {
	call := Call{Number: int(s.begun.Add(1))}
	if err := s.at(Begin, call); err != nil {
		return err
	}
	err := s.Store.InTx(ctx, func(inner storage.Tx) error {
		of := call
		of.Tx = inner
		if err := f(spyTx{spyReader{inner, s, of}, inner}); err != nil {
			return err
		}
		return s.at(Commit, of)
	})
	if err != nil {
		return err
	}
	return s.at(Committed, call)
}

// View is a transaction that only reads, to the hook too.
func (s *Spy) View(ctx context.Context, f func(driver.Reader) error) error {
	call := Call{Number: int(s.begun.Add(1))}
	if err := s.at(Begin, call); err != nil {
		return err
	}
	return s.Store.View(ctx, func(inner driver.Reader) error { return f(spyReader{inner, s, call}) })
}

// Next tells the hook before it asks the store beneath.
func (s *Spy) Next(ctx context.Context, schema *driver.Schema, c driver.Claim, horizon time.Time) ([]driver.Cursor, error) {
	if err := s.at(Next, Call{Table: schema.Name}); err != nil {
		return nil, err
	}
	return s.Store.Next(ctx, schema, c, horizon)
}

// Blobs belong to the Spy, whose transactions keep them.
func (s *Spy) Blobs() storage.Blobs {
	b, err := driver.NewBlobs(s, "")
	if err != nil {
		panic(err) // there is no folder that could be unusable
	}
	return b
}

func (s *Spy) at(verb string, c Call) error {
	hook := s.hook()
	if hook == nil {
		return nil
	}
	c.Verb = verb
	return hook(c)
}

// spyReader reads for a Spy.
type spyReader struct {
	driver.Reader
	spy  *Spy
	call Call // what all calls of the transaction have in common
}

func (t spyReader) Store() storage.Store { return t.spy }

// spyTx is a transaction of a Spy.
type spyTx struct {
	spyReader
	tx storage.Tx
}

func (t spyReader) at(verb string, s *driver.Schema, rows []driver.Row, q driver.Query) error {
	c := t.call
	c.Table, c.Rows, c.Where, c.Columns = s.Name, rows, q.Where, q.Columns
	return t.spy.at(verb, c)
}

func (t spyTx) Insert(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	if err := t.at(Insert, s, rows, driver.Query{}); err != nil {
		return nil, err
	}
	return t.tx.Insert(ctx, s, rows)
}

func (t spyReader) Select(ctx context.Context, s *driver.Schema, reach driver.ScopeFilter, q driver.Query) ([]driver.Row, error) {
	if err := t.at(Select, s, nil, q); err != nil {
		return nil, err
	}
	return t.Reader.Select(ctx, s, reach, q)
}

// Get tells the hook of columns, but not of places.
func (t spyReader) Get(ctx context.Context, s *driver.Schema, places []driver.ScopedKey, columns []string) ([]driver.Row, error) {
	if err := t.at(Get, s, nil, driver.Query{Columns: columns}); err != nil {
		return nil, err
	}
	return t.Reader.Get(ctx, s, places, columns)
}

func (t spyTx) Claim(ctx context.Context, s *driver.Schema, c driver.Claim) ([]driver.Row, error) {
	call := t.call
	call.Table, call.Lanes = s.Name, c.Lanes
	if err := t.spy.at(Claim, call); err != nil {
		return nil, err
	}
	return t.tx.Claim(ctx, s, c)
}

func (t spyTx) Update(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	if err := t.at(Update, s, rows, driver.Query{}); err != nil {
		return nil, err
	}
	return t.tx.Update(ctx, s, rows)
}

func (t spyTx) Extend(ctx context.Context, s *driver.Schema, rows []driver.Row, until time.Time) ([]bool, error) {
	if err := t.at(Extend, s, rows, driver.Query{}); err != nil {
		return nil, err
	}
	return t.tx.Extend(ctx, s, rows, until)
}

func (t spyTx) Delete(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	if err := t.at(Delete, s, rows, driver.Query{}); err != nil {
		return nil, err
	}
	return t.tx.Delete(ctx, s, rows)
}

func (t spyReader) Count(ctx context.Context, s *driver.Schema, reach driver.ScopeFilter, where []driver.Cond, limit int) (int, error) {
	if err := t.at(Count, s, nil, driver.Query{Where: where}); err != nil {
		return 0, err
	}
	return t.Reader.Count(ctx, s, reach, where, limit)
}

// HasChildren tells the hook of conditions, but not of places.
func (t spyReader) HasChildren(ctx context.Context, s *driver.Schema, places []driver.ScopedKey, where []driver.Cond) ([]int, error) {
	if err := t.at(Under, s, nil, driver.Query{Where: where}); err != nil {
		return nil, err
	}
	return t.Reader.HasChildren(ctx, s, places, where)
}

func (t spyReader) CountBy(ctx context.Context, s *driver.Schema, reach driver.ScopeFilter, q driver.CountBy) ([]driver.Group, error) {
	if err := t.at(Tally, s, nil, driver.Query{Where: q.Where}); err != nil {
		return nil, err
	}
	return t.Reader.CountBy(ctx, s, reach, q)
}

// Calls are those of verbs that a Spy told of. They may be noted by many goroutines.
type Calls struct {
	mu    sync.Mutex
	calls []Call
}

// Counting is a Spy on store that notes its verbs, each of which is a statement.
func Counting(store storage.Store) (*Spy, *Calls) {
	c := &Calls{}
	return &Spy{Store: store, Hook: c.note}, c
}

func (c *Calls) note(call Call) error {
	if call.Table != "" {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.calls = append(c.calls, call)
	}
	return nil
}

// Take gives what was called since the last time.
func (c *Calls) Take() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.calls
	c.calls = nil
	return out
}

// Count is how many of them were in transactions. It takes them all.
func (c *Calls) Count() (n int) {
	for _, call := range c.Take() {
		if call.Verb != Next {
			n++
		}
	}
	return n
}

// Verbs are their verbs and tables, "next automation_scheduler". It takes them.
func (c *Calls) Verbs() []string {
	out := []string{}
	for _, call := range c.Take() {
		out = append(out, call.Verb+" "+call.Table)
	}
	return out
}

// Lose is a hook that loses the transaction of that number: it does not happen,
// or, if only its reply is lost, it does.
func Lose(number int, reply bool) func(Call) error {
	return func(c Call) error {
		switch {
		case c.Number == number && c.Verb == Begin && !reply:
			return storage.ErrUnavailable
		case c.Number == number && c.Verb == Committed && reply:
			return storage.ErrOutcomeUnknown
		}
		return nil
	}
}
