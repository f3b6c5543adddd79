package notify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/spelling"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// strongest lists the reasons, the one that stops most first.
var strongest = []channel.SuppressionReason{channel.HardBounce, channel.Complaint, channel.Unsubscribe}

// stops reports whether a message is stopped for this reason.
func stops(r channel.SuppressionReason, a *gate.Attempt) bool {
	switch r {
	case channel.Erased, channel.HardBounce:
		return true
	case channel.Complaint:
		return !a.Requested
	case channel.Unsubscribe:
		return !a.Mandatory
	}
	return false
}

// Destination is an address of a delivery method.
type Destination struct{ Method, Address string }

// Suppression says that an address of a tenant gets no more messages, or only
// mandatory ones. The address itself is not in it.
type Suppression struct {
	Scope  Scope
	Method string // the delivery method
	// AddressHash is a hash of method and normalised address, under the host's key
	// with the fingerprint HashKey.
	AddressHash string
	HashKey     string
	Reason      channel.SuppressionReason
	Since       time.Time
	// Source is the provider that reported it, by callback or by a refusal, or
	// "Support".
	Source string
	// MessageID is the message that it was reported about; empty for "Support".
	MessageID string
}

// suppressionRow has the columns of a [Suppression]; its Kind is the Method.
type suppressionRow struct {
	storage.Record
	AddressHash string                    `db:"address_hash,fixed,indexed,person"`
	HashKey     string                    `db:"hash_key,fixed,plain"`
	Reason      channel.SuppressionReason `db:"reason,fixed,plain"`
	Since       time.Time                 `db:"since"`
	Source      string                    `db:"source,plain"`
	MessageID   string                    `db:"message_id,plain"`
	// Said has the last word of each source: it is in force while one of them says so, and
	// Since, Source and MessageID are of the first that did.
	Said []said `db:"said,json,plain"`
}

// said is what a source last said against an address.
type said struct {
	Source    string    `json:"source"`         // a provider, or "Support"
	List      string    `json:"list,omitempty"` // of the provider
	Own       bool      `json:"own,omitempty"`  // the account is the tenant's own
	Against   bool      `json:"against,omitempty"`
	On        time.Time `json:"on"`
	MessageID string    `json:"messageId,omitempty"`
}

// sameSource reports whether two words are of one source, of which the later counts.
func (w said) sameSource(o said) bool {
	return w.Source == o.Source && w.List == o.List && w.Own == o.Own
}

func (s *suppressionRow) view() Suppression {
	return Suppression{
		Scope: s.Scope, Method: s.Kind, AddressHash: s.AddressHash, HashKey: s.HashKey,
		Reason: s.Reason, Since: s.Since, Source: s.Source, MessageID: s.MessageID,
	}
}

// sourceSupport is the Source of what a person has suppressed.
const sourceSupport = "Support"

var suppressions = driver.Define[suppressionRow]("suppression").Grows(driver.WithEntities).
	Kept(driver.Always, "without it a dead or complaining address would be written to").
	Erased("stays, as a hash")

// addressHash stands for an address in the suppression list, and for a recipient who has
// no Ref.
func (n *core) addressHash(method, address string) string {
	return n.recipientHash("", method, address)
}

// addressHashes stand for an address under the present key, and the former ones.
func (n *core) addressHashes(method, address string) []string {
	out := []string{n.addressHash(method, address)}
	for _, key := range n.options.FormerHashKeys {
		out = append(out, spelling.Hash(key, "", method, address))
	}
	return out
}

func suppressionKey(hash string, r channel.SuppressionReason) string {
	return hash + "\x1f" + string(r)
}

// suppression is a row for an address in its normal form, by the word of a source.
func (n *core) suppression(scope Scope, to Destination, r channel.SuppressionReason, w said) *suppressionRow {
	hash := n.addressHash(to.Method, to.Address)
	row := &suppressionRow{
		Record:      storage.Record{Scope: scope, Key: suppressionKey(hash, r), Kind: to.Method, Status: statusActive},
		AddressHash: hash, HashKey: n.hashKey, Reason: r,
	}
	row.begin(w)
	return row
}

// begin gives a new row its first word.
func (s *suppressionRow) begin(w said) {
	s.Said, s.Since, s.Source, s.MessageID = []said{w}, w.On, w.Source, w.MessageID
	if !w.Against {
		s.Status = statusLifted
	}
}

// hear takes in the word of a source, unless a later one of it is known, and reports whether
// it changed anything.
func (s *suppressionRow) hear(w said) (changed bool) {
	all := slices.Clone(s.Said)
	i := slices.IndexFunc(all, w.sameSource)
	switch {
	case i < 0:
		all = append(all, w)
	case w.On.Before(all[i].On), w.On.Equal(all[i].On) && w.Against == all[i].Against:
		return false
	default:
		all[i] = w
	}
	s.Said = all
	s.weigh()
	return true
}

// weigh puts the row in force, or lifts it, by what all sources say.
func (s *suppressionRow) weigh() {
	var first *said
	for i := range s.Said {
		w := &s.Said[i]
		if !w.Against {
			continue
		}
		if w.Source == s.Source && s.Status == statusActive {
			return // as it was
		}
		if first == nil || w.On.Before(first.On) {
			first = w
		}
	}
	status := statusLifted
	if first != nil {
		status = statusActive
		s.Since, s.Source, s.MessageID = first.On, first.Source, first.MessageID
	}
	if status != s.Status {
		suppressionStates.Must(s.Status, status)
		s.Status = status
	}
}

// renew suppresses again what was lifted, and keeps what each source says. What one said
// before it took that back counts no more.
func renew(stored, want *suppressionRow) (outcome storage.Outcome, write bool) {
	was := stored.Status
	for _, w := range want.Said {
		write = stored.hear(w) || write
	}
	if stored.Status != was {
		return storage.Reactivated, true
	}
	return storage.Unchanged, write
}

// suppressFacts suppresses what new facts ask for, in their transaction. A message that
// was redirected speaks of another address than its own.
func (n tracker) suppressFacts(ctx context.Context, tx storage.Tx, facts []newFact) error {
	var rows []*suppressionRow
	for _, f := range facts {
		m := f.message
		if r := f.event.suppresses(); r != "" && !m.Redirected && !m.IsTombstone() {
			rows = append(rows, n.suppression(m.Scope, Destination{m.Method, m.Address}, r, f.event.said(m)))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := suppressions.Ensure(ctx, tx, renew, rows...)
	return err
}

// dispatchSent suppresses addresses that were refused, and empties messages to those who
// were erased.
func (n sender) dispatchSent(ctx context.Context, tx storage.Tx, done []work.Done[messageRow, channel.SuppressionReason]) error {
	var gone []*messageRow
	for _, d := range done {
		if d.Row.Status == StatusSkipped && d.Row.ReasonCode == reasons.Erased {
			m := *d.Row
			gone = append(gone, &m)
		}
	}
	if len(gone) > 0 {
		if err := messageErasures.Save(ctx, tx, gone...); err != nil {
			return err
		}
	}
	return n.suppressRefused(ctx, tx, done)
}

// suppressRefused suppresses addresses for which a provider has refused a message.
func (n sender) suppressRefused(ctx context.Context, tx storage.Tx, done []work.Done[messageRow, channel.SuppressionReason]) error {
	var rows []*suppressionRow
	for _, d := range done {
		if m := d.Row; d.Result != "" {
			w := said{Source: cmp.Or(n.tracker().reporter(m.inUse()), m.inUse()), Own: m.OwnAccount, Against: true, On: driver.Now(n.store), MessageID: m.MessageID}
			rows = append(rows, n.suppression(m.Scope, Destination{m.Method, m.Address}, d.Result, w))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := suppressions.Ensure(ctx, tx, renew, rows...)
	return err
}

// suppresses is what an event says against its address, if anything.
func (e *deliveryEvent) suppresses() channel.SuppressionReason {
	switch {
	case e.StatusKind == channel.KindBounced && e.Lasting:
		return channel.HardBounce
	case e.StatusKind == channel.KindComplained:
		return channel.Complaint
	case e.StatusKind == channel.KindUnsubscribed:
		return channel.Unsubscribe
	}
	return ""
}

// said is the word of an event about a message, or, without one, about an address.
func (e *deliveryEvent) said(m *messageRow) said {
	return said{
		Source: e.Kind, List: e.List, Own: m.OwnAccount || e.Scope != "", Against: e.StatusKind != channel.KindResubscribed,
		On: e.On, MessageID: m.MessageID,
	}
}

// suppressed gives for each attempt the reason that stops most, or none, in one
// statement.
func (n Contacts) suppressed(ctx context.Context, from driver.Reader, attempts []gate.Attempt) ([]channel.SuppressionReason, error) {
	erased, err := n.erasure().anyErased(ctx, from)
	if err != nil {
		return nil, err
	}
	places := make([]driver.ScopedKey, 0, len(attempts)*len(strongest))
	asked := make([][]driver.ScopedKey, len(attempts))
	for i := range attempts {
		m := &attempts[i]
		asked[i] = n.suppressionsOf(m.Scope, m.Method, m.Address)
		if erased {
			asked[i] = append(n.erasure().marksOf(m.Scope, m.RecipientRef, m.Method, m.Address), asked[i]...)
		}
		places = append(places, asked[i]...)
	}
	found, err := suppressions.GetMany(ctx, from, places)
	out := make([]channel.SuppressionReason, len(attempts))
	for i := range attempts {
		out[i] = strongestOf(found, asked[i])
	}
	return out, err
}

// suppressionsOf are where those of an address would be, the one that stops most
// first.
func (n Contacts) suppressionsOf(scope Scope, method, address string) (out []driver.ScopedKey) {
	hashes := n.addressHashes(method, address)
	for _, r := range strongest {
		for _, hash := range hashes {
			out = append(out, driver.ScopedKey{Scope: scope, Key: suppressionKey(hash, r)})
		}
	}
	return out
}

func strongestOf(found map[driver.ScopedKey]*suppressionRow, asked []driver.ScopedKey) channel.SuppressionReason {
	for _, at := range asked {
		if s := found[at]; s != nil && s.Status == statusActive {
			return s.Reason
		}
	}
	return ""
}

// Suppressed lists the suppressions of a scope that are in force, in the order of
// their keys. What is stored under another key than Options.HashKey and
// Options.FormerHashKeys is not among them: it matches no address.
func (n Contacts) Suppressed(ctx context.Context, scope Scope, p storage.Page) ([]Suppression, string, error) {
	return list(ctx, n.core, suppressions, scope, p, []driver.Cond{driver.Eq("status", statusActive), driver.In("hash_key", n.fingerprints)}, (*suppressionRow).view)
}

func (s *suppressionRow) lift(time.Time) (refused string) {
	if s.Status != statusActive {
		return "it is not in force"
	}
	s.Said = slices.Clone(s.Said)
	for i := range s.Said {
		s.Said[i].Against = false
	}
	s.weigh()
	return ""
}

// Suppress stops messages to addresses of a tenant, for instance those of a list
// that is taken over from elsewhere; at most 1000 in one call. Addresses that are
// suppressed for that reason already stay as they are. Who did it and why is in
// the audit, in the same transaction. An address that its method cannot deliver
// to is an error that says which argument, and nothing is written.
func (n Contacts) Suppress(ctx context.Context, scope Scope, reason channel.SuppressionReason, by By, to ...Destination) error {
	if err := by.Check(); err != nil {
		return err
	}
	if !slices.Contains(strongest, reason) {
		return fmt.Errorf("notify: %q is not a reason to suppress an address", string(reason))
	}
	if len(to) > maxPage {
		return fmt.Errorf("notify: %d addresses to suppress at once, more than %d", len(to), maxPage)
	}
	list := make([]Destination, len(to))
	for i, d := range to {
		address, err := spelling.Of(d.Method, d.Address)
		if err != nil {
			return fmt.Errorf("notify: Suppress, destination %d: %w", i+1, err)
		}
		list[i] = Destination{d.Method, address}
	}
	return n.inTx(ctx, nil, func(tx storage.Tx) error {
		return n.suppressBy(ctx, tx, scope, reason, by, list)
	})
}

func (n Contacts) suppressBy(ctx context.Context, tx storage.Tx, scope Scope, reason channel.SuppressionReason, by By, list []Destination) error {
	now := driver.Now(n.store)
	rows := make([]*suppressionRow, len(list))
	for i, d := range list {
		rows[i] = n.suppression(scope, d, reason, said{Source: sourceSupport, Against: true, On: now})
	}
	if _, err := n.beginHashKey(ctx, tx); err != nil { // a gate without this key is to fail, not to find nothing
		return err
	}
	done, err := suppressions.Ensure(ctx, tx, renew, rows...)
	if err != nil {
		return err
	}
	var entries []*audit.Entry
	for _, d := range done {
		if d.Outcome == storage.Unchanged {
			continue
		}
		from := ""
		if d.Outcome == storage.Reactivated {
			from = statusLifted
		}
		entries = append(entries, &audit.Entry{
			Record: storage.Record{Scope: scope}, Subject: suppressions.Name, SubjectKey: d.Row.Key, SubjectID: d.Row.ID, SubjectVersion: d.Row.Version,
			Action: "Suppress", Actor: by.Actor, Reason: by.Reason, From: from, To: statusActive, On: now,
		})
	}
	if len(entries) == 0 {
		return nil
	}
	return audit.Write(ctx, tx, entries...)
}

// Unsuppress lifts all suppressions of an address, since the recipient asked for
// messages again, or the mailbox exists. Who did it and why is in the audit. A
// provider's own list is not changed by it. An address that is not suppressed is
// an [ErrActionRefused].
func (n Contacts) Unsuppress(ctx context.Context, scope Scope, to Destination, by By) error {
	address, err := spelling.Of(to.Method, to.Address)
	if err != nil {
		return fmt.Errorf("notify: Unsuppress: %w", err)
	}
	places := n.suppressionsOf(scope, to.Method, address)
	return n.inTx(ctx, nil, func(tx storage.Tx) error {
		if err := n.rightLookup(ctx, tx); err != nil {
			return err
		}
		return lift(ctx, tx, scope, places, by)
	})
}

func lift(ctx context.Context, tx storage.Tx, scope Scope, places []driver.ScopedKey, by By) error {
	found, err := suppressions.GetMany(ctx, tx, places)
	if err != nil {
		return err
	}
	lifted := 0
	for _, p := range places {
		if s := found[p]; s == nil || s.Status != statusActive {
			continue
		}
		if err := audit.Change(ctx, tx, suppressions, scope, p.Key, "Unsuppress", by, (*suppressionRow).lift); err != nil {
			return err
		}
		lifted++
	}
	if lifted == 0 {
		return fmt.Errorf("%w: the address is not suppressed", ErrActionRefused)
	}
	return nil
}
