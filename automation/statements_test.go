package automation_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// countingStore counts the verbs of transactions, each of which is a statement.
type countingStore struct {
	storage.Store
	verbs int
}

func (s *countingStore) InTx(ctx context.Context, f func(storage.Tx) error) error {
	return s.Store.InTx(ctx, func(tx storage.Tx) error { return f(&countingTx{tx, s}) })
}

type countingTx struct {
	storage.Tx
	s *countingStore
}

func (t *countingTx) Store() storage.Store { return t.s }

func (t *countingTx) Insert(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	t.s.verbs++
	return t.Tx.Insert(ctx, s, rows)
}

func (t *countingTx) Select(ctx context.Context, s *driver.Schema, reach driver.Reach, q driver.Query) ([]driver.Row, error) {
	t.s.verbs++
	return t.Tx.Select(ctx, s, reach, q)
}

func (t *countingTx) Update(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	t.s.verbs++
	return t.Tx.Update(ctx, s, rows)
}

func (t *countingTx) Claim(ctx context.Context, s *driver.Schema, c driver.Claim) ([]driver.Row, error) {
	t.s.verbs++
	return t.Tx.Claim(ctx, s, c)
}

// statements says how many statements it takes to make n rows, to say the same
// again, to move them by an event, and to run them when they are due.
func statements(t *testing.T, n int) (out [4]int) {
	clk := clock.NewMock()
	clk.Set(start)
	store := &countingStore{Store: memory.New(&memory.Options{Clock: clk})}
	w := newWorld(t, store, clk, nil)
	p := w.withTriggers(nil)
	var many []automation.Candidate
	for i := range n {
		many = append(many, candidate(func(c *automation.Candidate) { c.TriggerKey = fmt.Sprint(i) }))
	}
	runner := w.runner()
	for i, step := range []func(){
		func() { w.ensure(many...) },
		func() { w.ensure(many...) },
		func() {
			for i := range many {
				many[i].SendAt = "10:00"
			}
			p.set(many...)
			w.handle(changed(1))
		},
		func() {
			clk.Set(day(2026, 4, 1, 10))
			report, err := runner.Poll(w.ctx, n)
			if err != nil || report.Settled != n {
				t.Fatalf("%+v %v", report, err)
			}
		},
	} {
		before := store.verbs
		step()
		out[i] = store.verbs - before
	}
	return out
}

// Batches everywhere: rows cost no statements. Ensure reads first or inserts
// first, by what it found last, which makes the difference of a statement, and
// reads rows that change twice, in part and whole; their history is one more. Not
// parallel: what it found last is remembered for the whole process.
func TestTheNumberOfStatementsDoesNotGrowWithTheRows(t *testing.T) {
	for _, n := range []int{20, 499} {
		got := statements(t, n)
		for i, most := range [4]int{2, 3, 8, 8} {
			if got[i] > most {
				t.Errorf("%d rows: step %d takes %d statements, more than %d", n, i+1, got[i], most)
			}
		}
	}
}
