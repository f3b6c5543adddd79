package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/loglimit"
	"github.com/belfry-go/belfry/internal/spelling"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// ErrHashKey says that Options.HashKey is not the key under which this database
// knows its recipients: with another one, or none, a repeat would not find the
// messages of the first run, and send them again. It also says that one of the keys
// before it is missing in Options.FormerHashKeys, without which the addresses that are
// suppressed under it would get mail. See [Contacts.RotateHashKey].
var ErrHashKey = errors.New("notify: Options.HashKey is not the key that this database was first used with")

// hashKeyRow is the one row that says under which key recipients are hashed. It is
// never due.
type hashKeyRow struct {
	storage.Record
	Fingerprint string `db:"fingerprint,plain"` // empty: none, a plain hash
	// Former are the fingerprints of the keys under which something is still known.
	Former []string `db:"former,json,plain"`
}

var hashKeys = driver.Define[hashKeyRow]("recipient_hash_key").Grows(driver.Bounded).
	Kept(driver.Always, "one; it says whose hashes these are")

const hashKeyKey = "recipients"

// hashKeyCheck remembers that the key is right. Bound copies share it.
type hashKeyCheck struct {
	mu    sync.Mutex
	known bool
	said  bool // that the key is wrong
}

func (c *hashKeyCheck) isKnown() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known
}

// prepareHashKey is done before the generator claims anything: without the right
// key it makes no messages.
func (n *core) prepareHashKey(ctx context.Context) error {
	n.hashKeyCheck.mu.Lock()
	defer n.hashKeyCheck.mu.Unlock()
	if n.hashKeyCheck.known {
		return nil
	}
	err := n.readHashKey(ctx)
	if errors.Is(err, storage.ErrNotFound) {
		err = n.store.InTx(ctx, func(tx storage.Tx) error { return n.checkHashKey(ctx, tx) })
	}
	return n.checked(ctx, err)
}

// checked remembers that the key is right, or says once what to set: until then nothing is
// made or sent.
func (n *core) checked(ctx context.Context, err error) error {
	n.hashKeyCheck.known = err == nil
	if !errors.Is(err, ErrHashKey) {
		return err
	}
	if !n.hashKeyCheck.said {
		n.hashKeyCheck.said = true
		n.options.Logger.ErrorContext(loglimit.Always(ctx), "belfry: nothing is made or sent: set notify.Options.HashKey to the key that this database was first used with, and FormerHashKeys to those before it, or rotate it with Contacts.RotateHashKey",
			slog.String("fingerprint", n.hashKey), slog.Any("error", err))
	}
	return work.Logged(err)
}

// readHashKey is checkHashKey where a key is stored, and an ErrNotFound where none is.
func (n *core) readHashKey(ctx context.Context) error {
	return n.store.View(ctx, func(from driver.Reader) error { return n.storedKeyFits(ctx, from) })
}

func (n *core) storedKeyFits(ctx context.Context, from driver.Reader) error {
	r, err := hashKeys.Get(ctx, from, "", hashKeyKey)
	if err != nil {
		return err
	}
	return n.fits(r)
}

// prepareLookup is done before recipients are looked up by their hashes. Without a
// key it leaves nothing behind where none is stored: no recipient has been hashed, and
// a process may begin with a key.
func (n *core) prepareLookup(ctx context.Context) error {
	if len(n.options.HashKey) > 0 {
		return n.prepareHashKey(ctx)
	}
	n.hashKeyCheck.mu.Lock()
	defer n.hashKeyCheck.mu.Unlock()
	if n.hashKeyCheck.known {
		return nil
	}
	err := n.readHashKey(ctx)
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	return n.checked(ctx, err)
}

// rightHashKey refuses to hash a recipient under another key than the stored one,
// in the transaction that is about to use the hash. Only an own transaction's
// answer is remembered: the caller's may be rolled back.
func (n *core) rightHashKey(ctx context.Context, tx storage.Tx) error {
	if tx == nil && n.tx == nil {
		return n.prepareHashKey(ctx)
	}
	if n.hashKeyCheck.isKnown() {
		return nil
	}
	return n.inTx(ctx, tx, func(tx storage.Tx) error { return n.checkHashKey(ctx, tx) })
}

// rightLookup refuses to look a recipient up under another key than the stored one, in the
// transaction that is about to. Where none is stored, there is nothing to be found.
func (n *core) rightLookup(ctx context.Context, from driver.Reader) error {
	if n.hashKeyCheck.isKnown() {
		return nil
	}
	err := n.storedKeyFits(ctx, from)
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	return err
}

// knownBy says whether recipients are hashed under key, as an [ErrHashKey]. Where none was
// hashed yet it begins with a key; with none only if it has to.
func knownBy(ctx context.Context, tx storage.Tx, key []byte, has bool) error {
	n := &core{hashKey: keys.Fingerprint(key)}
	r, err := hashKeys.Get(ctx, tx, "", hashKeyKey)
	if errors.Is(err, storage.ErrNotFound) {
		if !has && len(key) == 0 {
			return nil
		}
		r, err = n.beginHashKey(ctx, tx)
	}
	if err == nil && r.Fingerprint != n.hashKey {
		err = ErrHashKey
	}
	return err
}

// checkHashKey compares the fingerprints; the first one is stored.
func (n *core) checkHashKey(ctx context.Context, tx storage.Tx) error {
	r, err := n.beginHashKey(ctx, tx)
	if err != nil {
		return err
	}
	return n.fits(r)
}

// beginHashKey gives the stored fingerprint, or stores that of this process as the
// first one.
func (n *core) beginHashKey(ctx context.Context, tx storage.Tx) (*hashKeyRow, error) {
	want := &hashKeyRow{Record: storage.Record{Key: hashKeyKey}, Fingerprint: n.hashKey}
	got, err := hashKeys.Ensure(ctx, tx, func(_, _ *hashKeyRow) (storage.Outcome, bool) { return storage.Unchanged, false }, want)
	if err != nil {
		return nil, err
	}
	return got[0].Row, nil
}

// fits says whether this process knows recipients as the database does.
func (n *core) fits(r *hashKeyRow) error {
	if r.Fingerprint != n.hashKey {
		return ErrHashKey
	}
	if missing := n.unknown(r.Former); len(missing) > 0 {
		return fmt.Errorf("%w, or Options.FormerHashKeys lacks one of those before it", ErrHashKey)
	}
	return nil
}

// unknown are those fingerprints of which this process has no key.
func (n *core) unknown(fingerprints []string) (out []string) {
	for _, f := range fingerprints {
		if !slices.Contains(n.fingerprints, f) {
			out = append(out, f)
		}
	}
	return out
}

// RotateOptions are the settings of [Contacts.RotateHashKey]; nil and the zero value
// forget nothing.
type RotateOptions struct {
	// Forget gives up what is stored under former keys that Options.FormerHashKeys
	// does not have: the addresses suppressed under them get mail again, unless
	// [Contacts.Suppress] has them under this process's key, and recipients without a
	// Ref have to opt out again. For a key that is lost.
	Forget bool
}

// rotate is the change of the one row.
func (o *RotateOptions) rotate(n *core, r *hashKeyRow) string {
	former := r.Former
	if r.Fingerprint != n.hashKey {
		former = append(slices.Clone(former), r.Fingerprint)
	}
	missing := n.unknown(former)
	switch {
	case len(missing) > 0 && (o == nil || !o.Forget):
		return "Options.FormerHashKeys lacks a key under which suppressed addresses may be known"
	case len(missing) == 0 && r.Fingerprint == n.hashKey:
		return "this key is in use already"
	}
	r.Fingerprint = n.hashKey
	r.Former = slices.DeleteFunc(slices.Clone(former), func(f string) bool { return f == n.hashKey || slices.Contains(missing, f) })
	return ""
}

// RotateHashKey makes this process's Options.HashKey the one of the database: new
// messages are hashed under it, jobs that have begun keep theirs. Stop the
// processes that have the former key before; they refuse it when they start again.
// The former key goes into Options.FormerHashKeys, here and in every process from now
// on, so that suppressions and opt-outs under it go on to count; frequency caps of
// recipients without a Ref begin anew. It is audited, and refused ([ErrActionRefused])
// where the key is in use already, or a former one is missing and opts does not
// forget it.
func (n Contacts) RotateHashKey(ctx context.Context, by By, opts *RotateOptions) error {
	err := n.store.InTx(ctx, func(tx storage.Tx) error {
		if _, err := n.beginHashKey(ctx, tx); err != nil {
			return err
		}
		return audit.Change(ctx, tx, hashKeys, "", hashKeyKey, "RotateHashKey", by, func(r *hashKeyRow, _ time.Time) string {
			return opts.rotate(n.core, r)
		})
	})
	if err != nil {
		return fmt.Errorf("notify: RotateHashKey: %w", err)
	}
	return nil
}

// recipientHash stands for a recipient in keys of messages: one mailbox is one, in any
// spelling.
func (n *core) recipientHash(ref, method, address string) string {
	return spelling.Hash(n.options.HashKey, ref, method, address)
}
