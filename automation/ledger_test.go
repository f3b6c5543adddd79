package automation_test

import (
	"context"
	"sync"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// ledger is a store that notes which verb touches which table, and how.
type ledger struct {
	storage.Store
	mu   sync.Mutex
	used []use
}

// use is one statement.
type use struct {
	Verb, Table string
	Where       []driver.Cond
}

func (l *ledger) note(verb string, s *driver.Schema, where ...driver.Cond) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = append(l.used, use{verb, s.Name, where})
}

// take gives what was noted since the last time.
func (l *ledger) take() []use {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.used
	l.used = nil
	return out
}

// verbs are the statements as texts, "next automation_scheduler".
func verbs(used []use) []string {
	out := []string{}
	for _, u := range used {
		out = append(out, u.Verb+" "+u.Table)
	}
	return out
}

func (l *ledger) Next(ctx context.Context, s *driver.Schema, c driver.Claim, horizon time.Time) (time.Time, error) {
	l.note("next", s)
	return l.Store.Next(ctx, s, c, horizon)
}

func (l *ledger) InTx(ctx context.Context, f func(storage.Tx) error) error {
	return l.Store.InTx(ctx, func(tx storage.Tx) error { return f(&ledgerTx{tx, l}) })
}

type ledgerTx struct {
	storage.Tx
	l *ledger
}

func (t *ledgerTx) Store() storage.Store { return t.l }

func (t *ledgerTx) Insert(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	t.l.note("insert", s)
	return t.Tx.Insert(ctx, s, rows)
}

func (t *ledgerTx) Select(ctx context.Context, s *driver.Schema, reach driver.Reach, q driver.Query) ([]driver.Row, error) {
	t.l.note("select", s, q.Where...)
	return t.Tx.Select(ctx, s, reach, q)
}

func (t *ledgerTx) Count(ctx context.Context, s *driver.Schema, reach driver.Reach, where []driver.Cond, limit int) (int, error) {
	t.l.note("count", s, where...)
	return t.Tx.Count(ctx, s, reach, where, limit)
}

func (t *ledgerTx) Claim(ctx context.Context, s *driver.Schema, c driver.Claim) ([]driver.Row, error) {
	t.l.note("claim", s)
	return t.Tx.Claim(ctx, s, c)
}

func (t *ledgerTx) Update(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	t.l.note("update", s)
	return t.Tx.Update(ctx, s, rows)
}

func (t *ledgerTx) Extend(ctx context.Context, s *driver.Schema, rows []driver.Row, until time.Time) ([]bool, error) {
	t.l.note("extend", s)
	return t.Tx.Extend(ctx, s, rows, until)
}

func (t *ledgerTx) Delete(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	t.l.note("delete", s)
	return t.Tx.Delete(ctx, s, rows)
}
