package notify

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// Notifier is the [DeliveryDispatcher] over a store, and the service that
// delivers what was dispatched when a poller runs its passes. Its methods may
// be called from any number of goroutines, those of a bound copy (see WithTx)
// from one.
type Notifier struct {
	store    storage.Store
	tx       storage.Tx // of a bound copy
	options  Options
	registry *registry
	box      *outbox.Box // what the host hears
	hashKey  string      // fingerprint of options.HashKey
	chunk    int         // recipients of a campaign in one transaction

	fingerprints []string // of that key and the former ones

	environment  *environment
	gates        []Gate           // environment first
	slots        map[string]slots // by channel, of those that are bounded
	hashKeyCheck *hashKeyCheck
}

var (
	_ DeliveryDispatcher = (*Notifier)(nil)
	_ Registrar          = (*Notifier)(nil)
)

// errForeignTx is a transaction of another store than the service's.
var errForeignTx = errors.New("notify: the transaction belongs to another store")

// New makes a Notifier that sends through channels. A process without channels
// ensures, schedules and renders, and leaves sending to others. New panics on a
// nil store, a nil channel or gate, two channels of one key, a key whose part
// before the colon is not lower-case letters, digits and '-', and an Unsubscribe
// that no program can mean.
func New(store storage.Store, opts *Options, channels ...Channel) *Notifier {
	if store == nil {
		panic("notify: New needs a store")
	}
	n := &Notifier{store: store, options: opts.withDefaults(), registry: newRegistry(channels), chunk: chunkSize}
	n.box = outbox.New(store, "notify.status", n.options.Logger)
	n.hashKey, n.hashKeyCheck = keys.Fingerprint(n.options.HashKey), &hashKeyCheck{}
	n.fingerprints = []string{n.hashKey}
	for _, key := range n.options.FormerHashKeys {
		n.fingerprints = append(n.fingerprints, keys.Fingerprint(key))
	}
	n.environment = &environment{store: store}
	n.gates = n.withOwnGates(n.options.Gates)
	n.slots = n.options.slots(channels)
	n.options.Unsubscribe.check()
	return n
}

// Register makes a type of notification known to this process, which then
// claims schedules and jobs of it. Register it also where its messages are
// sent, or they are not revalidated. It panics on an empty name, a name that
// is registered already, an unknown policy, and a Template that does not parse.
func (n *Notifier) Register(t Type) { n.registry.register(t) }

// WithTx is a shallow copy whose Ensure methods belong to tx, which is usually
// a host's own transaction (Join of the adapter). It panics if tx is nil or
// belongs to another store.
func (n *Notifier) WithTx(tx storage.Tx) *Notifier {
	if tx == nil {
		panic("notify: WithTx needs a transaction")
	}
	if tx.Store() != n.store {
		panic(errForeignTx.Error())
	}
	bound := *n
	bound.tx = tx
	return &bound
}

// inTx runs f in tx, else in the bound transaction, else in one of its own.
func (n *Notifier) inTx(ctx context.Context, tx storage.Tx, f func(storage.Tx) error) error {
	if tx == nil {
		tx = n.tx
	}
	switch {
	case tx == nil:
		return n.store.InTx(ctx, f)
	case tx.Store() != n.store:
		return errForeignTx
	}
	return f(tx)
}

// newMessageID is 128 random bits in hex: unguessable, and no sequence.
func (n *Notifier) newMessageID() (string, error) {
	id := make([]byte, 16)
	if _, err := io.ReadFull(n.store.Rand(), id); err != nil {
		return "", fmt.Errorf("notify: no randomness for a message id: %w", err)
	}
	return hex.EncodeToString(id), nil
}
