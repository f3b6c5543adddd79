package notify

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// SuppressionReason says why an address gets no more messages.
type SuppressionReason string

// The reasons of a suppression. HardBounce stops everything to the address, the
// others all types but Mandatory ones.
const (
	HardBounce  SuppressionReason = "HardBounce"  // the address does not exist
	Complaint   SuppressionReason = "Complaint"   // the recipient called a message spam
	Unsubscribe SuppressionReason = "Unsubscribe" // the recipient wants no more
)

// strongest lists the reasons, the one that stops most first.
var strongest = []SuppressionReason{HardBounce, Complaint, Unsubscribe}

// stops reports whether messages of a type are stopped for this reason.
func (r SuppressionReason) stops(mandatory bool) bool {
	return r == HardBounce || r != "" && !mandatory
}

// Destination is an address of a delivery method.
type Destination struct{ Method, Address string }

// Suppression says that an address of a tenant gets no more messages, or only
// mandatory ones. The address itself is not in it.
type Suppression struct {
	storage.Record // Type: the delivery method
	// AddressHash is a hash of method and normalised address, under the host's key
	// with the fingerprint HashKey.
	AddressHash string            `db:"address_hash,fixed"`
	HashKey     string            `db:"hash_key,fixed"`
	Reason      SuppressionReason `db:"reason,fixed"`
	Since       time.Time         `db:"since"`
	// Source is the provider that reported it, or SourceSupport.
	Source string `db:"source"`
	// MessageID is the message that it was reported about; empty for SourceSupport.
	MessageID string `db:"message_id"`
}

// SourceSupport is the Source of what a person has suppressed.
const SourceSupport = "Support"

var suppressions = storage.Define[Suppression]("suppression")

// addressHash stands for an address in the suppression list. It is not that of
// message keys, which says something of the recipient too.
func (n *Notifier) addressHash(method, address string) string {
	return keys.RecipientHash(n.options.HashKey, "", method, address)
}

// addressHashes stand for an address under the present key, and the former ones.
func (n *Notifier) addressHashes(method, address string) []string {
	out := []string{n.addressHash(method, address)}
	for _, key := range n.options.FormerHashKeys {
		out = append(out, keys.RecipientHash(key, "", method, address))
	}
	return out
}

func suppressionKey(hash string, r SuppressionReason) string { return hash + "\x1f" + string(r) }

// suppression is a row for an address in its normal form.
func (n *Notifier) suppression(scope Scope, to Destination, r SuppressionReason, since time.Time, source, messageID string) *Suppression {
	hash := n.addressHash(to.Method, to.Address)
	return &Suppression{
		Record:      storage.Record{Scope: scope, Key: suppressionKey(hash, r), Type: to.Method, Status: StatusActive},
		AddressHash: hash, HashKey: n.hashKey, Reason: r, Since: since, Source: source, MessageID: messageID,
	}
}

// renew suppresses again what a person had lifted, and leaves the rest alone.
func renew(stored, want *Suppression) (storage.Outcome, bool) {
	if stored.Status == StatusActive {
		return storage.Unchanged, false
	}
	suppressionStates.Must(stored.Status, StatusActive)
	stored.Status = StatusActive
	stored.Since, stored.Source, stored.MessageID = want.Since, want.Source, want.MessageID
	return storage.Reactivated, true
}

// suppressFacts suppresses what new facts ask for, in their transaction.
func (n *Notifier) suppressFacts(ctx context.Context, tx storage.Tx, facts []newFact) error {
	var rows []*Suppression
	for _, f := range facts {
		if r := f.event.suppresses(); r != "" {
			m := f.message
			rows = append(rows, n.suppression(m.Scope, Destination{m.Method, m.Address}, r, f.event.On, f.event.Type, m.MessageID))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := suppressions.Ensure(ctx, tx, renew, rows...)
	return err
}

// suppresses is what an event says against its address, if anything.
func (e *deliveryEvent) suppresses() SuppressionReason {
	switch {
	case e.Kind == KindBounced && e.Lasting:
		return HardBounce
	case e.Kind == KindComplained:
		return Complaint
	case e.Kind == KindUnsubscribed:
		return Unsubscribe
	}
	return ""
}

// suppressed gives for each message the reason that stops most, or none, in one
// statement for each scope.
func (n *Notifier) suppressed(ctx context.Context, tx storage.Tx, messages []*OutgoingMessage) ([]SuppressionReason, error) {
	places := make([]place, 0, len(messages)*len(strongest))
	asked := make([][]place, len(messages))
	for i, m := range messages {
		asked[i] = n.suppressionsOf(m.Scope, m.Method, m.Address)
		places = append(places, asked[i]...)
	}
	found, err := loadPlaces(ctx, tx, suppressions, places)
	out := make([]SuppressionReason, len(messages))
	for i := range messages {
		out[i] = strongestOf(found, asked[i])
	}
	return out, err
}

// suppressionsOf are where those of an address would be, the one that stops most
// first.
func (n *Notifier) suppressionsOf(scope Scope, method, address string) (out []place) {
	hashes := n.addressHashes(method, address)
	for _, r := range strongest {
		for _, hash := range hashes {
			out = append(out, place{scope, suppressionKey(hash, r)})
		}
	}
	return out
}

func strongestOf(found map[place]*Suppression, asked []place) SuppressionReason {
	for _, at := range asked {
		if s := found[at]; s != nil && s.Status == StatusActive {
			return s.Reason
		}
	}
	return ""
}
