package notify

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
)

// ErrHashKey says that Options.HashKey is not the key under which this database
// knows its recipients: with another one, or none, a repeat would not find the
// messages of the first run, and send them again. See [Notifier.RotateHashKey].
var ErrHashKey = errors.New("notify: Options.HashKey is not the key that this database was first used with")

// hashKeyRow is the one row that says under which key recipients are hashed. It is
// never due.
type hashKeyRow struct {
	storage.Record
	Fingerprint string `db:"fingerprint"` // empty: none, a plain hash
}

var hashKeys = storage.Define[hashKeyRow]("recipient_hash_key")

const hashKeyKey = "recipients"

// hashKeyCheck remembers that the key is right. Bound copies share it.
type hashKeyCheck struct {
	mu    sync.Mutex
	known bool
}

// prepareHashKey is done before the generator claims anything: without the right
// key it makes no messages.
func (n *Notifier) prepareHashKey(ctx context.Context) error {
	n.hashKeyCheck.mu.Lock()
	defer n.hashKeyCheck.mu.Unlock()
	if n.hashKeyCheck.known {
		return nil
	}
	err := n.store.InTx(ctx, func(tx storage.Tx) error { return n.checkHashKey(ctx, tx) })
	n.hashKeyCheck.known = err == nil
	return err
}

// rightHashKey refuses to hash a recipient under another key than the stored one,
// in the transaction that is about to use the hash. Only an own transaction's
// answer is remembered: the caller's may be rolled back.
func (n *Notifier) rightHashKey(ctx context.Context, tx storage.Tx) error {
	if tx == nil && n.tx == nil {
		return n.prepareHashKey(ctx)
	}
	n.hashKeyCheck.mu.Lock()
	known := n.hashKeyCheck.known
	n.hashKeyCheck.mu.Unlock()
	if known {
		return nil
	}
	return n.inTx(ctx, tx, func(tx storage.Tx) error { return n.checkHashKey(ctx, tx) })
}

// checkHashKey compares the fingerprints; the first one is stored.
func (n *Notifier) checkHashKey(ctx context.Context, tx storage.Tx) error {
	want := &hashKeyRow{Record: storage.Record{Key: hashKeyKey}, Fingerprint: n.hashKey}
	got, err := hashKeys.Ensure(ctx, tx, func(_, _ *hashKeyRow) (storage.Outcome, bool) { return storage.Unchanged, false }, want)
	if err != nil {
		return err
	}
	if got[0].Row.Fingerprint != n.hashKey {
		return ErrHashKey
	}
	return nil
}

func (n *Notifier) rotate(r *hashKeyRow, _ time.Time) string {
	if r.Fingerprint == n.hashKey {
		return "this key is in use already"
	}
	r.Fingerprint = n.hashKey
	return ""
}

// RotateHashKey makes this process's Options.HashKey the one of the database: new
// messages are hashed under it, jobs that have begun keep theirs. Stop the
// processes that have the former key before; they refuse it when they start again.
// Suppressions under the former key match nobody any more, so give them anew before
// ([Notifier.Suppress]). It is audited, and refused ([ErrActionRefused]) where the key
// is in use already.
func (n *Notifier) RotateHashKey(ctx context.Context, by By) error {
	err := n.store.InTx(ctx, func(tx storage.Tx) error {
		if err := n.checkHashKey(ctx, tx); err != nil && !errors.Is(err, ErrHashKey) {
			return err
		}
		return audit.Change(ctx, tx, hashKeys, "", hashKeyKey, "RotateHashKey", by, n.rotate)
	})
	if err != nil {
		return fmt.Errorf("notify: RotateHashKey: %w", err)
	}
	return nil
}
