package notify

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/driver"
)

// Failover is a channel with others behind it, of the same delivery method. It has the
// key of primary, so that messages go on asking for that one. A chain of one is that
// channel itself. Failover panics on a nil channel, one that is a chain itself, two of
// one key, and channels of different methods.
//
// A claim calls one channel. A definite refusal ends the claim and names the next
// channel, which the next claim calls at once: one that blames the account, the provider, a
// policy or not at all. What is wrong with the address or the message is wrong
// everywhere, so that the message is tried again by its schedule, or fails, as without
// others. The schedule's pause comes after the last channel, counts as one try, and the
// next round begins with the first. A message fails for good when the last channel
// refuses for good and no other may take it later.
//
// A message whose type needs what some of them lack takes the others only.
//
// A channel that is out (see [Outage]) or paused by its key (see [Extent]) is passed
// over; when it is back, messages that no channel has refused begin with it again. A
// pause of the chain's key keeps all its messages back.
//
// A message that was in doubt stays with the channel that it was called by: that one is
// asked, and calls again.
//
// Bounds ([channel.Bounded], ChannelConcurrency), gates, outages and callbacks are those of
// each channel, by its own key. Of callbacks that tell of a failure only those of the
// channel in use count; they are known by the provider's id of the message, else by the
// name of their [channel.Webhook] (see [Reported]).
//
// Only a [Notifier] goes on to the others: who calls its Send calls primary. Decorate the
// channels and not the chain.
func Failover(primary channel.Channel, others ...channel.Channel) channel.Channel {
	all := append([]channel.Channel{primary}, others...)
	seen := map[string]bool{}
	for i, c := range all {
		if c == nil {
			panic(fmt.Sprintf("notify: Failover: channel %d is nil", i+1))
		}
		key := c.Key()
		if _, ok := c.(*failover); ok {
			panic(fmt.Sprintf("notify: Failover: channel %d, %q, is a chain itself", i+1, key))
		}
		if first := primary.Key(); channel.Method(first) != channel.Method(key) {
			panic(fmt.Sprintf("notify: Failover: %q and %q are of two delivery methods", first, key))
		}
		if seen[key] {
			panic(fmt.Sprintf("notify: Failover: two channels have the key %q", key))
		}
		seen[key] = true
	}
	if len(others) == 0 {
		return primary
	}
	return &failover{all}
}

type failover struct{ members []channel.Channel }

func (f *failover) Key() string { return f.members[0].Key() }

func (f *failover) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	return f.members[0].Send(ctx, m)
}

// membersOf are the channels of a chain, or the one that is none.
func membersOf(c channel.Channel) []channel.Channel {
	if chain, ok := c.(*failover); ok {
		return chain.members
	}
	return []channel.Channel{c}
}

// sameChannel reports whether two channels are one.
func sameChannel(a, b channel.Channel) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.ValueOf(a).Comparable() && a == b
}

// way is a channel that a message may take.
type way struct {
	channel channel.Channel
	name    string // its key
	at      line
}

// own reports whether its account is one scope's own.
func (w *way) own() bool { return !w.at.Everywhere }

// chain are the ways of a message, in their order.
type chain []way

// index is that of the way with a name; none is the first.
func (c chain) index(via string) int {
	if via == "" {
		return 0
	}
	return slices.IndexFunc(c, func(w way) bool { return w.name == via })
}

// turn is the way that a message takes now.
type turn struct {
	*way
	all   chain // what it is one of
	chain chain // those of all that can do what the message's type needs
	round bool  // of the chain begins with it
	probe bool  // the channel is out, and the message finds out whether it still is

	stops channel.SuppressionReason // what the call's refusal says of the address

	// What the message had before the call.
	via    string
	wasOwn bool
	due    time.Time // its NextRetryOn
}

// able are the ways that can do what a type needs.
func (c chain) able(needs channel.Capabilities) chain {
	lacks := func(w way) bool { return len(channel.CapabilitiesOf(w.channel).Lacks(needs)) > 0 }
	return slices.DeleteFunc(slices.Clone(c), lacks)
}

// narrow leaves in a turn the ways that can do what the message's type needs, and reports
// whether there is one that it may take: it begins again where the present one cannot,
// unless it stays with that.
func (t *turn) narrow(m *messageRow, needs channel.Capabilities) bool {
	if needs == (channel.Capabilities{}) {
		return true
	}
	able := t.all.able(needs)
	i := able.index(t.name)
	if i < 0 && !m.bound() {
		i = 0
	}
	if len(able) == 0 || i < 0 {
		return false
	}
	t.way, t.chain, t.round = &able[i], able, i == 0
	return true
}

// bound reports whether the message stays with the channel that was called.
func (p *Progress) bound() bool { return p.Doubts > 0 }

// mayComeTwice reports whether a policy or a person has accepted that the recipient gets
// the message twice.
func (p *Progress) mayComeTwice() bool {
	return p.Resolution == ResolvedByResend || p.Resolution == ResolvedBySupport
}

// inUse is the key of the channel that was called last, or is called next.
func (m *messageRow) inUse() string { return cmp.Or(m.Via, m.Kind) }

// free reports whether the message may take another way than the present one.
func (t *turn) free(m *messageRow) bool { return len(t.chain) > 1 && !m.bound() }

// begin notes in a message that its call starts, and in the turn how it was before.
// From here on NextRetryOn is when a channel that has refused it in this round may take
// it.
func (t *turn) begin(m *messageRow, now time.Time) {
	t.via, t.wasOwn, t.due = m.Via, m.OwnAccount, m.NextRetryOn
	m.OwnAccount = t.own()
	if m.Via != "" || t.all.index(t.name) > 0 {
		m.Via = t.name
	}
	if t.free(m) && t.round {
		m.NextRetryOn = time.Time{}
	}
	m.calling(now)
}

// undo takes begin back, since the call was not made.
func (t *turn) undo(m *messageRow, now time.Time) {
	m.uncalled(now)
	m.Via, m.OwnAccount, m.NextRetryOn = t.via, t.wasOwn, t.due
}

// refusedBefore reports whether another channel has refused the message in this round
// and may take it later: it is not called again at once.
func (t *turn) refusedBefore(m *messageRow) bool { return t.free(m) && !m.NextRetryOn.IsZero() }

// goesOn reports whether another channel may take what this one has refused.
func goesOn(e *channel.Error) bool {
	return e != nil && e.Class != channel.ClassUnknown && e.Fault != channel.FaultAddress && e.Fault != channel.FaultMessage
}

// nextWay is the way behind the present one that is open now, if the message may take
// one.
func (n sender) nextWay(t *turn, m *messageRow, e *channel.Error) *way {
	if !t.free(m) || !goesOn(e) {
		return nil
	}
	behind := t.chain[t.chain.index(t.name)+1:]
	now := driver.Now(n.store)
	for i := range behind {
		if until := n.watch.closed(&behind[i], m.Scope, now); until.IsZero() {
			return &behind[i]
		}
	}
	return nil
}

// goOn ends a claim whose call was refused: the next one calls another channel. Where
// this one may take the message later, NextRetryOn says when: after the pause of this
// round. Of one that is out it is not known.
func (m *messageRow) goOn(now time.Time, next string, e *channel.Error, out bool) {
	again := m.NextRetryOn
	if e.Class == channel.ClassTransient && !out {
		pause := m.pauseAfter(m.RetryCount + 1)
		again = later(now.Add(max(pause, min(e.RetryAfter, maxRetryAfter))), again)
	}
	m.ReasonCode = storable.Code(e.Code)
	m.retryOn(now)
	m.Via, m.NextRetryOn = next, again
}

// lastWord is what a refusal means behind which no channel is left: it is for good only
// if no other may take the message later.
func (n sender) lastWord(t *turn, m *messageRow, e *channel.Error) *channel.Error {
	if !t.free(m) || !goesOn(e) || e.Class != channel.ClassPermanent {
		return e
	}
	now := driver.Now(n.store)
	isOut := func(w way) bool { return w.name != t.name && !n.watch.closed(&w, m.Scope, now).IsZero() }
	if !t.refusedBefore(m) && !slices.ContainsFunc(t.chain, isOut) {
		return e
	}
	passing := *e
	passing.Class = channel.ClassTransient
	return &passing
}

// roundOver has the next round begin with the first channel.
func (t *turn) roundOver(m *messageRow) {
	if t.free(m) && m.Status == StatusRetryReady {
		m.Via = t.chain[0].name
	}
}

// transport is the part of a channel's key behind the colon.
func transport(key string) string {
	_, name, _ := strings.Cut(key, ":")
	return name
}

// tells reports whether an event is of the channel in use, as far as can be told.
// A message that never had another needs no proof.
func (n tracker) tells(m *messageRow, e *deliveryEvent) bool {
	if m.Via == "" {
		return true
	}
	if m.ProviderMessageID != "" && e.ProviderMessageID != "" {
		return m.ProviderMessageID == e.ProviderMessageID
	}
	return e.Kind == n.reporter(m.Via)
}
