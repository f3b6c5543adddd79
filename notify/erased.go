package notify

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/spelling"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// marks are where those of the person would be in the list of suppressed addresses. A
// Ref is marked by a hash, too.
func (s dataSubject) marks(reasons ...channel.SuppressionReason) (out []driver.ScopedKey) {
	for _, m := range s.marked() {
		for _, r := range reasons {
			out = append(out, driver.ScopedKey{Scope: s.Scope, Key: suppressionKey(m.AddressHash, r)})
		}
	}
	return out
}

// marked are the rows that keep what comes again for the person from being sent.
func (s dataSubject) marked() (out []*suppressionRow) {
	if s.Ref != "" {
		for _, hash := range s.n.refHashes(s.Ref) {
			out = append(out, &suppressionRow{AddressHash: hash, HashKey: s.n.hashKey, Reason: channel.Erased})
		}
	}
	for _, d := range s.addresses {
		for _, hash := range s.n.addressHashes(d.Method, d.Address) {
			if slices.ContainsFunc(out, func(o *suppressionRow) bool { return o.AddressHash == hash }) {
				continue
			}
			out = append(out, &suppressionRow{
				Record: storage.Record{Kind: d.Method}, AddressHash: hash, HashKey: s.n.hashKey, Reason: channel.Erased,
			})
		}
	}
	for _, m := range out {
		m.Scope, m.Key, m.Status = s.Scope, suppressionKey(m.AddressHash, channel.Erased), statusActive
		m.begin(said{Source: sourceSupport, Against: true, On: driver.Now(s.n.store)})
	}
	return out
}

// refHashes stand for a Ref, under the present key and the former ones.
func (n erasure) refHashes(ref string) []string {
	out := []string{n.recipientHash(ref, "", "")}
	for _, key := range n.options.FormerHashKeys {
		out = append(out, spelling.Hash(key, ref, "", ""))
	}
	return out
}

func (n erasure) mark(ctx context.Context, tx storage.Tx, s sweep.Subject) error {
	if err := n.checkHashKey(ctx, tx); err != nil {
		return err
	}
	n.erasedBefore.hear(true, driver.Now(n.store))
	_, err := suppressions.Ensure(ctx, tx, renew, n.dataSubject(s).marked()...)
	return err
}

// erasedMemory spares asking for marks where no person was ever erased.
type erasedMemory struct {
	mu    sync.Mutex
	some  bool
	asked time.Time
}

func (e *erasedMemory) hear(some bool, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.some, e.asked = e.some || some, now
}

// remembers tells what is known, and whether that is recent.
func (e *erasedMemory) remembers(now time.Time) (some, recent bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.some, e.some || !e.asked.IsZero() && now.Sub(e.asked) < marksFor
}

// anyErased reports whether a person was ever erased here.
func (n erasure) anyErased(ctx context.Context, from driver.Reader) (bool, error) {
	now := driver.Now(n.store)
	if some, recent := n.erasedBefore.remembers(now); recent {
		return some, nil
	}
	some, err := sweep.Any(ctx, from)
	if err == nil {
		n.erasedBefore.hear(some, now)
	}
	return some, err
}

// marksOf are where those of a recipient would be.
func (n erasure) marksOf(scope Scope, ref, method, address string) (out []driver.ScopedKey) {
	var hashes []string
	if ref != "" {
		hashes = n.refHashes(ref)
	}
	if address != "" {
		hashes = append(hashes, n.addressHashes(method, address)...)
	}
	for _, hash := range hashes {
		out = append(out, driver.ScopedKey{Scope: scope, Key: suppressionKey(hash, channel.Erased)})
	}
	return out
}

// eraseWanted empties messages to those who were erased before they are stored.
func eraseWanted(ctx context.Context, n *core, tx storage.Tx, rows []*messageRow) error {
	e := n.erasure()
	if !e.mayBeErased() {
		return nil
	}
	some, err := e.anyErased(ctx, tx)
	if err != nil || !some {
		return err
	}
	marks := make([][]driver.ScopedKey, len(rows))
	for i, m := range rows {
		marks[i] = e.marksOf(m.Scope, m.RecipientRef, m.Method, m.Address)
	}
	found, err := suppressions.GetMany(ctx, tx, slices.Concat(marks...), "status")
	for i, m := range rows {
		if slices.ContainsFunc(marks[i], func(at driver.ScopedKey) bool { return found[at] != nil && found[at].Status == statusActive }) {
			m.Status, m.ReasonCode, m.EndedOn = StatusSkipped, reasons.Erased, m.CreatedOn
			messageErasures.Make(m.CreatedOn, m)
		}
	}
	return err
}

// isErased tells whether a recipient of a scope was erased.
type isErased func(Scope, Recipient) bool

func nobodyErased(Scope, Recipient) bool { return false }

// mayBeErased reports whether it is worth asking.
func (n erasure) mayBeErased() bool {
	some, recent := n.erasedBefore.remembers(driver.Now(n.store))
	return some || !recent
}

// erasedAmong tells who was erased, in one statement.
func (n erasure) erasedAmong(ctx context.Context, all map[Scope][]Recipient) (isErased, error) {
	var found map[driver.ScopedKey]*suppressionRow
	err := n.store.View(ctx, func(from driver.Reader) error {
		some, err := n.anyErased(ctx, from)
		if err != nil || !some {
			return err
		}
		var places []driver.ScopedKey
		for scope, recipients := range all {
			for _, r := range recipients {
				places = append(places, n.marksOfRecipient(scope, r)...)
			}
		}
		found, err = suppressions.GetMany(ctx, from, places, "status")
		return err
	})
	if err != nil || len(found) == 0 {
		return nobodyErased, err
	}
	return func(scope Scope, r Recipient) bool {
		return slices.ContainsFunc(n.marksOfRecipient(scope, r), func(at driver.ScopedKey) bool {
			return found[at] != nil && found[at].Status == statusActive
		})
	}, nil
}

func (n erasure) marksOfRecipient(scope Scope, r Recipient) []driver.ScopedKey {
	id := r.identity()
	return n.marksOf(scope, r.Ref, id.method, id.address)
}

// Erased reports whether a person was erased, so that new messages to them end as Skipped
// ([reasons.Erased]).
func (n Contacts) Erased(ctx context.Context, scope Scope, recipientRef string) (bool, error) {
	var found map[driver.ScopedKey]*suppressionRow
	err := n.store.View(ctx, func(from driver.Reader) (err error) {
		found, err = suppressions.GetMany(ctx, from, n.erasure().marksOfRecipient(scope, Recipient{Ref: recipientRef}), "status")
		return err
	})
	for _, mark := range found {
		if mark.Status == statusActive {
			return true, err
		}
	}
	return false, err
}

// unmark lifts what [erasure.mark] did.
func (n erasure) unmark(ctx context.Context, tx storage.Tx, s sweep.Subject, by By) error {
	places := n.dataSubject(s).marks(channel.Erased)
	found, err := suppressions.GetMany(ctx, tx, places)
	if err != nil {
		return err
	}
	for _, p := range places {
		if m := found[p]; m == nil || m.Status != statusActive {
			continue
		}
		if err := audit.Change(ctx, tx, suppressions, p.Scope, p.Key, "Admit", by, (*suppressionRow).lift); err != nil {
			return fmt.Errorf("notify: %w", err)
		}
	}
	return nil
}
