package notify

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/owned"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Another package of this module may have messages of its own, such as those with the links
// of surveys: it makes them by EnsureOutgoingMessage, with its name as the Owner, and they
// are claimed, gated, called and settled like all others. The owner is asked before a call,
// and hears of each write, in its transaction.

// Own makes o answer for the messages of an owner in this process, before pollers run the
// passes of n. It is for the packages of this module, and panics where the owner has an
// answer already.
func (n *Notifier) Own(name string, o owned.Owner) owned.Sender {
	r := n.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.owners[name] != nil {
		panic(fmt.Sprintf("%[1]s: New: the Notifier belongs to another service of package %[1]s: make one Notifier for each", name))
	}
	r.owners[name] = o
	return ownedMessages{n.core}
}

func (r *registry) owner(name string) owned.Owner {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.owners[name]
}

// owned is the message as its owner knows it.
func (m *messageRow) owned() owned.Message {
	waits := m.Status == StatusCreated || m.Status == StatusRetryReady || m.Status == StatusSending
	sent := m.Status == StatusSentToProvider || m.Status == StatusDelivered || m.Status == StatusOpened
	return owned.Message{
		Scope: m.Scope, Key: m.Key, MessageID: m.MessageID, Channel: m.inUse(), Status: m.Status, ReasonCode: m.ReasonCode,
		Waits: waits, InDoubt: m.Status == StatusOutcomeUnknown, Sent: sent, Held: m.IsOnSupportHold && m.HoldReason != reasons.Unserved,
		Assumed: sent && m.ProviderMessageID == "" && (m.Resolution == ResolvedByAssumption || m.Resolution == ResolvedBySupport),
		Calls:   m.CallsBefore + m.Calls, Tries: m.RetryCount, CallStartedOn: m.CallStartedOn, SentOn: m.SentOn, DueOn: m.DueOn,
		LeaseExpiresOn: m.LeaseExpiresOn, ProviderMessageID: m.ProviderMessageID,
	}
}

// ofOwners are the places of messages among rows, by their owners.
func ofOwners(rows []*messageRow) map[string][]int {
	var of map[string][]int
	for i, m := range rows {
		if m.Owner != "" {
			if of == nil {
				of = map[string][]int{}
			}
			of[m.Owner] = append(of[m.Owner], i)
		}
	}
	return of
}

// views are some of the rows as their owner knows them.
func views(rows []*messageRow, at []int) []owned.Message {
	out := make([]owned.Message, len(at))
	for k, i := range at {
		out[k] = rows[i].owned()
	}
	return out
}

// tellOwners has owners hear of messages that were written in tx.
func (n *core) tellOwners(ctx context.Context, tx storage.Tx, rows []*messageRow) error {
	for name, at := range ofOwners(rows) {
		if o := n.registry.owner(name); o != nil {
			if err := o.Changed(ctx, tx, views(rows, at)); err != nil {
				return err
			}
		}
	}
	return nil
}

// minOwnerWait is how long a message is left to processes that have its owner.
const minOwnerWait = time.Minute

// ownerAnswers are those of owners about the messages of a group.
type ownerAnswers map[*messageRow]owned.Answer

// askOwners settles claimed messages that their owners want no more, or not yet. A process
// that does not have the owner leaves them to others.
func (n sender) askOwners(ctx context.Context, items []sending) (open []sending, out ownerAnswers, err error) {
	rows := make([]*messageRow, len(items))
	for i, it := range items {
		rows[i] = it.Row
	}
	of := ofOwners(rows)
	if of == nil {
		return items, nil, nil
	}
	out = ownerAnswers{}
	for name, at := range of {
		o := n.registry.owner(name)
		if o == nil {
			for _, i := range at {
				out[rows[i]] = owned.Answer{Until: driver.Now(n.store).Add(minOwnerWait), Reason: reasons.NoOwner}
			}
			continue
		}
		said, err := o.Ask(ctx, views(rows, at))
		if err != nil {
			return nil, nil, err
		}
		for k, i := range at {
			out[rows[i]] = said[k]
		}
	}
	for _, it := range items {
		if n.apply(it.Row, verdictOf(out[it.Row])) {
			open = append(open, it)
		}
	}
	return open, out, nil
}

func verdictOf(a owned.Answer) gate.Verdict {
	switch {
	case a.Skip != "":
		return gate.Skip(a.Skip)
	case !a.Until.IsZero():
		return gate.Defer(a.Until, a.Reason)
	}
	return gate.Proceed()
}

// complete adds to a message what is not stored with it.
func (a ownerAnswers) complete(row *messageRow, m channel.Message) channel.Message {
	said := a[row]
	if said.StandIn == "" {
		return m
	}
	full := func(text string) string { return strings.ReplaceAll(text, said.StandIn, said.Secret) }
	m.Subject, m.Text, m.HTML, m.UnsubscribeURL = full(m.Subject), full(m.Text), full(m.HTML), full(m.UnsubscribeURL)
	m.Template.Params = slices.Clone(m.Template.Params)
	for i, p := range m.Template.Params {
		m.Template.Params[i] = full(p)
	}
	all := map[string]string{}
	maps.Copy(all, said.Metadata)
	for name, value := range m.Metadata {
		all[name] = full(value)
	}
	m.Metadata = all
	return m
}

// bar keeps calls from beginning that are wanted no more at this moment: the next claim finds
// out why.
func (n sender) bar(ctx context.Context, tx storage.Tx, rows []*messageRow) ([]bool, error) {
	barred, err := n.barRead(ctx, tx, rows)
	if err != nil {
		return nil, err
	}
	for name, at := range ofOwners(rows) {
		said, err := n.registry.owner(name).Bar(ctx, tx, views(rows, at)) // it has answered before
		if err != nil {
			return nil, err
		}
		if barred == nil {
			barred = make([]bool, len(rows))
		}
		for k, i := range at {
			barred[i] = barred[i] || said[k]
		}
	}
	return barred, nil
}

// keptByOwners are old messages that stay, since what they are of is there. Where the owner
// is not known, all do.
func (n retention) keptByOwners(ctx context.Context, from driver.Reader, rows []*messageRow) (map[*messageRow]bool, error) {
	kept := map[*messageRow]bool{}
	for name, at := range ofOwners(rows) {
		o, stay := n.registry.owner(name), make([]bool, len(at))
		if o != nil {
			var err error
			if stay, err = o.Keeps(ctx, from, views(rows, at)); err != nil {
				return nil, err
			}
		}
		for k, i := range at {
			kept[rows[i]] = o == nil || stay[k]
		}
	}
	return kept, nil
}

// ownedMessages is what an owner asks for.
type ownedMessages struct{ *core }

var _ owned.Sender = ownedMessages{}

func (n ownedMessages) Ready(ctx context.Context) error { return n.prepareHashKey(ctx) }

func (n ownedMessages) Channels() []string { return n.channelKeys() }

func (n ownedMessages) Passes() []work.Pass {
	return []work.Pass{n.unservedPass(), n.distributorPass(), n.resolvePass()}
}

func (n ownedMessages) Find(ctx context.Context, from driver.Reader, places ...driver.ScopedKey) (map[driver.ScopedKey]owned.Message, error) {
	rows, err := outgoingMessages.GetMany(ctx, from, places, tracking...)
	out := make(map[driver.ScopedKey]owned.Message, len(rows))
	for at, m := range rows {
		out[at] = m.owned()
	}
	return out, err
}

// End reads and writes until no worker comes between.
func (n ownedMessages) End(ctx context.Context, tx storage.Tx, on time.Time, reason string, places ...driver.ScopedKey) (out map[driver.ScopedKey]owned.Message, err error) {
	err = driver.RetryStale("messages that end", func() error {
		rows, err := outgoingMessages.GetMany(ctx, tx, places)
		if err != nil {
			return err
		}
		out = make(map[driver.ScopedKey]owned.Message, len(rows))
		var save []*messageRow
		for _, m := range rows {
			if m.ended(driver.Now(n.store), on, reason) {
				save = append(save, m)
			}
		}
		slices.SortFunc(save, func(a, b *messageRow) int { return cmp.Compare(a.ID, b.ID) })
		err = outgoingMessages.Save(ctx, tx, save...)
		for at, m := range rows {
			out[at] = m.owned()
		}
		return err
	})
	return out, err
}

func (n ownedMessages) TakeForSent(ctx context.Context, tx storage.Tx, at driver.ScopedKey) (out owned.Message, err error) {
	err = driver.RetryStale("a message in doubt", func() error {
		m, err := outgoingMessages.Get(ctx, tx, at.Scope, at.Key)
		if err != nil {
			return err
		}
		if m.decided(DecideSent, driver.Now(n.store)) == "" {
			err = outgoingMessages.Save(ctx, tx, m)
		}
		out = m.owned()
		return err
	})
	return out, err
}

func (n ownedMessages) OptOut(ctx context.Context, tx storage.Tx, who owned.Leaver) error {
	return n.contacts().optOut(ctx, tx, who)
}
