// Package work is the one pass that every coordinated table of Belfry shares:
// claim rows that are due, handle them under a heartbeat, and settle them with
// what they cause in one transaction. A domain says what is particular to its
// table in a [Spec]; everything else is here, once.
package work

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Spec is what a domain says about the pass over one of its tables. R is the
// row; A is what a handler decided besides the row's next state: artifacts to
// ensure, rows to wake.
type Spec[R, A any] struct {
	// Name appears in logs, metrics and reports: "automation", "notify.send".
	Name  string
	Table *driver.Table[R]
	// Claimable are the statuses that a claim takes, Busy the one it gives ("":
	// the lease alone says that a row is held).
	Claimable []string
	Busy      string
	// Types lists the registered names served by this process. Nil means all; a row without
	// a type is served by every process. It is asked before each claim.
	Types func() []string
	// Except says what is not to be claimed at present. It is asked once in a poll
	// that claims, in the transaction of the claim, or by reading before it looks for due
	// rows if there was something the last time. Nil: nothing.
	Except func(ctx context.Context, from driver.Reader) (Except, error)
	// Group is how many rows of one type one call of Handle gets at most; zero
	// means 50.
	Group int

	// Limit is how long a group of rows of a kind may be with its handler; zero: as
	// long as it takes. Then the contexts of the rows end, their leases are renewed no
	// more, and they fail: when the handler returns, or as abandoned if it does not.
	// Nil: no kind has one.
	Limit func(kind string) time.Duration

	// Handle decides about a group of rows of one Type. It changes each row into
	// its next state (status, due moment, results), writes nothing to the store
	// but blobs and what Start writes, and returns one A for each item, in order.
	// It is called from several goroutines. A panic, and an error, fail every row
	// of the group, so it guards each row's own code with [Guard]; a
	// [storage.ErrUnavailable] releases them.
	Handle func(ctx context.Context, items []Item[R]) ([]A, error)
	// Stream is Handle for rows that do not end together: it lands each row, once, when
	// the row has its next state, and does not touch it afterwards. Rows that it has not
	// landed when it returns fail, with its error or panic; with a
	// [storage.ErrUnavailable] they are released, so no call about them may have begun.
	// land may be called from several goroutines until then. A Spec has either Handle or Stream.
	Stream func(ctx context.Context, items []Item[R], land func(row *R, result A)) error
	// Weight is how many rows Dispatch writes for a result: rows are settled together
	// up to a bound in all. Nil: none.
	Weight func(result A) int
	// Dispatch ensures what was decided, in the transaction that has just settled
	// the rows; rows that turned out stale are not among them. It may change rows
	// and save them again (a conflict puts its row on hold). It may run again for
	// the same rows after a roll-back, so it has no effects outside tx. Two calls
	// may run at once, for different rows. Nil: none.
	Dispatch func(ctx context.Context, tx storage.Tx, done []Done[R, A]) error
	// Settled hears of every row that a settling transaction has written, whatever became of
	// it (handled, failed, abandoned, released, applied late), inside it and before
	// Dispatch, and under the same rules. Nil: it is not called.
	Settled func(ctx context.Context, tx storage.Tx, rows []*R) error
	// Fail records a failed try: back-off, then hold.
	Fail func(now time.Time, r *R, err error)
	// Abandon settles a row whose lease expired at another worker.
	Abandon func(now time.Time, r *R)
	// Release gives a row back unhandled, without counting a try.
	Release func(now time.Time, r *R)
	// ApplyLate brings the facts of a row that was handled here (mine) into the row that was
	// written meanwhile (stored), and says whether there was anything to bring; it never
	// moves a status backwards. held says that the claim is still ours; otherwise another
	// worker has the row or had it. Nil: nothing is brought, what mine decided is dropped.
	ApplyLate func(stored, mine *R, held bool) bool
}

// Item is a claimed row.
type Item[R any] struct {
	Row *R
	// Ctx ends when the lease is lost, when shutdown has waited long enough, or after
	// the Spec's Limit. A try that fails only because it is [Interrupted] is not
	// counted: the handler puts the row back as Release would.
	Ctx context.Context
	// Lease is how long a renewed lease lasts, for Start.
	Lease time.Duration
	// Flush stores what has landed without waiting for more; a stored row's Ctx ends. Nil:
	// nothing is stored before all items have ended.
	Flush func()
}

// Done is a settled row with what its handler decided.
type Done[R, A any] struct {
	Row    *R
	Result A
}

// Pass is a Spec with its store, ready to be run by any number of pollers.
type Pass interface {
	// Name is the Spec's.
	Name() string
	// Runner makes one poller's own instance: its cursors and its rows in flight.
	Runner(o Options) Runner
}

// Runner is a pass in one poller.
type Runner interface {
	// Poll claims at most batch rows, handles and settles them.
	Poll(ctx context.Context, batch int) (Report, error)
	// Run polls until ctx ends, then claims nothing more, finishes what runs and
	// releases the rest.
	Run(ctx context.Context) error
	// Liveness says how Run is doing, for each loop that it has; none while it rests. It
	// may be called from any number of goroutines.
	Liveness() []Liveness
}

// Report counts what one or more polls did.
type Report struct {
	Claimed   int // rows claimed, abandoned ones included
	Abandoned int // of those: taken over from an expired lease, settled unhandled
	Settled   int // rows whose handled state was committed
	Stale     int // rows that were written meanwhile; their result is dropped or applied late
	Failed    int // rows whose handler failed or panicked as a group, or whose result could not be stored
	Released  int // rows given back unhandled at shutdown
}

// Add sums reports.
func (r Report) Add(o Report) Report {
	return Report{
		Claimed: r.Claimed + o.Claimed, Abandoned: r.Abandoned + o.Abandoned,
		Settled: r.Settled + o.Settled, Stale: r.Stale + o.Stale,
		Failed: r.Failed + o.Failed, Released: r.Released + o.Released,
	}
}
