package driver

import (
	"context"
	"io"
	"time"
)

// Store is a database as the domains see it. Adapters implement it; its methods
// may be called from any number of goroutines and return within their context
// plus one second.
type Store interface {
	// InTx runs f in one transaction and commits it when f returns nil. It runs f
	// again after a serialization failure, a deadlock, a lock time-out or a key that
	// was taken meanwhile, so f has no effects outside the transaction. Structs to
	// which a run gave an id or a version are as before it, unless it was
	// committed or may have been. [ErrOutcomeUnknown] means that the reply to
	// COMMIT was lost. Do not call it inside f, nor beside a transaction that the
	// same goroutine holds open: with the context of InHostTx's function it is [ErrJoined].
	InTx(ctx context.Context, f func(Tx) error) error
	// View runs f over the committed rows of one moment, which does not wait for
	// writers and holds none of them up. It is over after [ViewTime] at the latest,
	// since a database keeps what it shows. It runs f again where InTx would. Do not
	// call it inside InTx.
	View(ctx context.Context, f func(Reader) error) error
	// Next returns, for each lane of c and in their order, the place of the first row, due
	// at or before horizon, that c would claim by then; the zero Cursor if there is none.
	// Limits do not matter. It is one SELECT without a transaction, for idle pollers.
	Next(ctx context.Context, s *Schema, c Claim, horizon time.Time) ([]Cursor, error)
	// Blobs keeps payloads that are too large for a row.
	Blobs() Blobs
	// Clock is the only source of time for everything that works on this store.
	Clock() Clock
	// Rand is the only source of randomness: tokens, generated names, public ids.
	Rand() io.Reader
	// Identity tells which database this is, so that a copy can be told from it.
	Identity(ctx context.Context) (Identity, error)
	// Waker tells pollers in this process about rows that became due.
	Waker() *Waker
	// Losses are what the database was found to have forgotten. An adapter that does not
	// look for them notes none.
	Losses() *Losses
}

// Clock tells the time, and when some of it has passed. The clocks of
// github.com/benbjohnson/clock are such, the mock too. Methods may be called from
// any number of goroutines.
type Clock interface {
	// Now is the time. It need not be UTC.
	Now() time.Time
	// After sends once, when d has passed.
	After(d time.Duration) <-chan time.Time
}

// ViewTime is how long a [Store].View may last, by the machine's clock.
const ViewTime = 30 * time.Second

// Reader reads rows of any schema: a transaction, or the view of one moment. It is
// used by one goroutine at a time and only until its function returns. An error of a
// verb ends it.
type Reader interface {
	// Select returns the rows within reach that q describes.
	Select(ctx context.Context, s *Schema, reach ScopeFilter, q Query) ([]Row, error)
	// Get returns the rows at places, of any scopes, in any order. Places are all
	// different. Columns are as those of a [Query].
	Get(ctx context.Context, s *Schema, places []ScopedKey, columns []string) ([]Row, error)
	// Count counts rows within reach, but not further than limit.
	Count(ctx context.Context, s *Schema, reach ScopeFilter, where []Cond, limit int) (int, error)
	// HasChildren tells for which of places, by their number, there is a row of their scope whose
	// key goes on behind theirs and U+001F, and for which all conditions hold; in any order.
	HasChildren(ctx context.Context, s *Schema, places []ScopedKey, where []Cond) ([]int, error)
	// CountBy counts rows within reach by kind, but not further than q.Limit.
	CountBy(ctx context.Context, s *Schema, reach ScopeFilter, q CountBy) ([]Group, error)
	// Store is the store whose rows it reads.
	Store() Store
}

// Tx is one transaction: what reads, and five verbs that write. "Not inserted" and
// "stale" are answers, not errors.
type Tx interface {
	Reader
	// Insert adds rows and tells which were new: false means that the scope and
	// key exist. A new row gets its ID, and Version 1.
	Insert(ctx context.Context, s *Schema, rows []Row) ([]bool, error)
	// Claim takes due rows, ordered by lane as asked, then DueOn and ID.
	Claim(ctx context.Context, s *Schema, c Claim) ([]Row, error)
	// Update writes all columns that are not fixed of rows whose stored version is the row's,
	// raises Version by one in the database and in the row, and tells which were
	// stale; stale ones are left as they are in both.
	Update(ctx context.Context, s *Schema, rows []Row) (stale []bool, err error)
	// Extend moves the lease of rows to until, if they are still held under the
	// row's ClaimToken, and tells which were lost. The version stays.
	Extend(ctx context.Context, s *Schema, rows []Row, until time.Time) (lost []bool, err error)
	// Delete removes rows whose stored version is the row's and tells which were
	// stale or gone.
	Delete(ctx context.Context, s *Schema, rows []Row) (stale []bool, err error)
}

// Identity is what a store knows about its database. A field is empty where
// there is nothing to know.
type Identity struct {
	// Environment is the stored name, Given the one that the host opened it with.
	Environment, Given string
	// System is the stored identifier of the database system, Present that of
	// the one it runs on now (PostgreSQL only).
	System, Present string
	// Loss is what the database is known to have forgotten. StopOnLoss is what the host
	// wants then.
	Loss       Loss
	StopOnLoss bool
}

// Quarantined reports whether nothing is sent from here until a person releases it: the
// database is a copy, or has forgotten commits and the host wants it to stop then.
func (i Identity) Quarantined() bool { return i.Copied() || i.StopOnLoss && i.Loss.Open() }

// Copied reports whether the database was opened under another environment's
// name than its own, or found on another database system.
func (i Identity) Copied() bool {
	return i.Given != "" && i.Given != i.Environment || i.Present != i.System
}

// Same reports whether two stores are one, however they are wrapped: a decorated store
// whose transactions are the inner one's has its Waker, too.
func Same(a, b Store) bool { return a.Waker() == b.Waker() }

// Now is the store's time as it is stored and compared.
func Now(s Store) time.Time { return Time(s.Clock().Now()) }
