package sqlstore

import "sync/atomic"

// optimism says whether a large INSERT into a table is expected to meet no row
// that has one of its keys. PostgreSQL then need not look for each key before it
// inserts the row, nor mark the row until it has: an eighth of what an Ensure of
// new rows takes. If a key is taken after all, the statement fails and the store
// runs its transaction again, asking; so a host's transaction is never an optimist.
//
// The zero value is no optimist yet. It is used by many goroutines.
type optimism struct{ streak atomic.Int32 }

const (
	// convinced is how many large INSERTs in a row met no taken key.
	convinced = 4
	// disappointed is where the count begins after one that failed, since the
	// server has written an error into its log.
	disappointed = convinced - 64
)

func (o *optimism) expects() bool { return o.streak.Load() >= convinced }

// learn takes in whether a large INSERT met no taken key.
func (o *optimism) learn(none bool) {
	switch streak := o.streak.Load(); { // who loses a swap has learned from another
	case none && streak < convinced:
		o.streak.CompareAndSwap(streak, streak+1)
	case !none && streak > 0:
		o.streak.CompareAndSwap(streak, 0)
	}
}

// fail takes in that a statement failed which expected none.
func (o *optimism) fail() { o.streak.Store(disappointed) }
