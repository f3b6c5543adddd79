package sqlstore

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// What the fake database can say; classifyFake knows what it means.
var (
	errSerial = errors.New("serialization failure")
	errLock   = errors.New("lock time-out")
	errBusy   = errors.New("database is busy")
	errGone   = errors.New("connection is gone")
	errOdd    = errors.New("something odd")
	errCannot = errors.New("feature not supported")
)

func classifyFake(err error) Class {
	for e, class := range map[error]Class{errSerial: Serialization, errLock: LockTimeout, errBusy: Busy, errGone: Connection, errCannot: Unsupported, sqldriver.ErrBadConn: Connection} {
		if errors.Is(err, e) {
			return class
		}
	}
	return Unknown
}

// fake is a database that records statements and answers as a test says.
type fake struct {
	mu     sync.Mutex
	texts  []string
	params []int // of the statements that have any
	closed int
	// refuses is what new connections come to; nil: they succeed.
	refuses error
	// answer is asked about each statement; nil: all succeed, with no rows.
	answer func(ctx context.Context, text string) error
	// rows gives the answer to a query.
	rows func(text string) [][]sqldriver.Value
}

// store is a store of the PostgreSQL dialect on the fake.
func (f *fake) store(t *testing.T, change func(*Config)) *Store {
	t.Helper()
	db := sql.OpenDB(f)
	t.Cleanup(func() { _ = db.Close() })
	cfg := Config{
		Dialect: PostgreSQL, Writer: NewDatabase(db, nil), Classify: classifyFake, Migrate: MigrateOff,
		Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
	if change != nil {
		change(&cfg)
	}
	s, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (f *fake) Connect(context.Context) (sqldriver.Conn, error) {
	if f.refuses != nil {
		return nil, f.refuses
	}
	return &fakeConn{f}, nil
}

func (f *fake) Driver() sqldriver.Driver { return nil }

func (f *fake) said(ctx context.Context, text string) error {
	f.mu.Lock()
	f.texts = append(f.texts, text)
	f.mu.Unlock()
	if f.answer == nil {
		return nil
	}
	return f.answer(ctx, text)
}

// log is what was said, each statement by its first word.
func (f *fake) log() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	words := make([]string, len(f.texts))
	for i, t := range f.texts {
		words[i], _, _ = strings.Cut(t, " ")
	}
	return strings.Join(words, " ")
}

func (f *fake) closes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

type fakeConn struct{ f *fake }

func (c *fakeConn) Prepare(string) (sqldriver.Stmt, error) {
	return nil, errors.New("nothing is prepared")
}

func (c *fakeConn) PrepareContext(_ context.Context, text string) (sqldriver.Stmt, error) {
	return fakeStmt{c: c, text: text}, nil
}

// fakeStmt is a statement that is run for each of many rows.
type fakeStmt struct {
	sqldriver.Stmt
	c    *fakeConn
	text string
}

func (fakeStmt) Close() error { return nil }

func (s fakeStmt) ExecContext(ctx context.Context, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	return s.c.ExecContext(ctx, s.text, args)
}

func (c *fakeConn) Begin() (sqldriver.Tx, error) {
	return fakeTx{c}, c.f.said(context.Background(), "BEGIN")
}

// fakeTx is a transaction that a host holds.
type fakeTx struct{ c *fakeConn }

func (t fakeTx) Commit() error   { return t.c.f.said(context.Background(), "COMMIT") }
func (t fakeTx) Rollback() error { return t.c.f.said(context.Background(), "ROLLBACK") }

func (c *fakeConn) Close() error {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.f.closed++
	return nil
}

func (c *fakeConn) ExecContext(ctx context.Context, text string, _ []sqldriver.NamedValue) (sqldriver.Result, error) {
	return sqldriver.RowsAffected(1), c.f.said(ctx, text)
}

func (c *fakeConn) QueryContext(ctx context.Context, text string, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	c.f.mu.Lock()
	c.f.params = append(c.f.params, len(args))
	c.f.mu.Unlock()
	if err := c.f.said(ctx, text); err != nil {
		return nil, err
	}
	r := &fakeRows{}
	if c.f.rows != nil {
		r.left = c.f.rows(text)
	}
	return r, nil
}

type fakeRows struct{ left [][]sqldriver.Value }

func (r *fakeRows) Columns() []string {
	if len(r.left) == 0 {
		return nil
	}
	return make([]string, len(r.left[0]))
}

func (r *fakeRows) Close() error { return nil }

func (r *fakeRows) Next(dest []sqldriver.Value) error {
	if len(r.left) == 0 {
		return io.EOF
	}
	copy(dest, r.left[0])
	r.left = r.left[1:]
	return nil
}

// job is a small row.
type job struct {
	driver.Due
	Note string `db:"note"`
}

var jobs = driver.Define[job]("job")

// look is a transaction of one harmless verb.
func look(ctx context.Context, s *Store, runs *int) error {
	return s.InTx(ctx, func(tx driver.Tx) error {
		*runs++
		_, err := jobs.Count(ctx, tx, "", 1)
		return err
	})
}

// first answers the first statement that begins with word with err.
func first(word string, err error) func(context.Context, string) error {
	var once sync.Once
	return func(_ context.Context, text string) (out error) {
		if strings.HasPrefix(text, word) {
			once.Do(func() { out = err })
		}
		return out
	}
}
