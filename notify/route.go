package notify

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/calls"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage/driver"
)

// ChannelSource chooses the channel for each scope: with its own credentials, From
// and Reply-To. It is called from several goroutines, for each group of messages,
// so it keeps the channels that it has made.
type ChannelSource interface {
	// Keys are the keys that it has channels for. This process claims messages of
	// these beside those of its own channels. It is asked before each claim and may
	// change.
	Keys() []string
	// Channel gives the channel of that key for a scope; its own Key does not
	// matter. Nil without an error leaves the choice to the process's own channel of
	// that key. After an error the messages of the scope are tried again with
	// back-off, and then wait for a person.
	Channel(ctx context.Context, scope Scope, key string) (channel.Channel, error)
}

// channels are those of a group, whose messages have one key.
type channels struct {
	own     chain
	byScope map[Scope]chain // nil: all have the process's own
	turns   map[*messageRow]*turn
}

func (c channels) of(m *messageRow) chain {
	if c.byScope == nil {
		return c.own
	}
	return c.byScope[m.Scope]
}

// turn is the way that was named, or was called by if that was in doubt. A message
// begins again where that channel is there no more, but for one whose call may not be
// repeated, which has none then: another account knows nothing of its call.
func (c channels) turn(m *messageRow) *turn {
	ways := c.of(m)
	if len(ways) == 0 {
		return nil
	}
	i := ways.index(m.Via)
	if m.bound() && (i < 0 || ways[i].own() != m.OwnAccount) {
		if !m.mayComeTwice() {
			return nil
		}
		i = 0
	}
	i = max(i, 0)
	return &turn{way: &ways[i], all: ways, chain: ways, round: i == 0}
}

// channelsOf finds the channels for a group, whose messages have one key. For those
// that cannot be found, failed settles the message; it gets what its scope sends by, of
// which there is nothing where the source fails.
func (n generator) channelsOf(ctx context.Context, items []sending, failed func(sending, chain)) ([]sending, channels, error) {
	key := items[0].Row.Kind
	out := channels{own: n.registry.channels[key], turns: make(map[*messageRow]*turn, len(items))}
	if n.options.Channels == nil && out.own == nil {
		return nil, out, fmt.Errorf("notify: no channel %q here", key)
	}
	if n.options.Channels != nil {
		out.byScope = n.chosen(ctx, key, items, out.own)
	}
	var open []sending
	for _, it := range items {
		t := out.turn(it.Row)
		if t == nil {
			failed(it, out.of(it.Row))
			continue
		}
		out.turns[it.Row] = t
		open = append(open, it)
	}
	return open, out, nil
}

// chosen asks the source once for each scope.
func (n generator) chosen(ctx context.Context, key string, items []sending, own chain) map[Scope]chain {
	out := map[Scope]chain{}
	for _, it := range items {
		scope := it.Row.Scope
		if _, asked := out[scope]; !asked {
			out[scope] = n.choose(ctx, scope, key, own)
			n.watch.learn(line{Scope: scope, Channel: key}, out[scope])
		}
	}
	return out
}

// choose is what a scope sends by, or nil if there is nothing now.
func (n generator) choose(ctx context.Context, scope Scope, key string, own chain) chain {
	var c channel.Channel
	err := work.Guard(func() (err error) {
		c, err = n.options.Channels.Channel(ctx, scope, key)
		return err
	})
	n.logPanic("a channel source panicked", err, slog.String("channel", key))
	if err == nil && c != nil {
		return n.registry.waysOf(scope, key, c)
	}
	if err != nil || own == nil {
		text := "belfry: messages wait, since Options.Channels returned an error"
		if err == nil {
			text = "belfry: messages wait, since neither Options.Channels nor this process has their channel"
		}
		n.options.Logger.ErrorContext(ctx, text, slog.String("channel", key), slog.String("scope", string(scope)))
		return nil
	}
	return own
}

// unserved settles a message whose channel could not be found.
func (n generator) unserved(it sending, _ chain) {
	now := driver.Now(n.store)
	if it.Ctx.Err() != nil {
		it.Row.released(now)
		return
	}
	it.Row.unasked(now, reasons.NoChannel)
}

// bounds are those of the channels of a group: by the options, and by themselves. A
// call is noted as started when its connection is free, or a crash would leave a doubt
// about a message that only waited for one. Calls of an account are counted always: while
// it does not answer it has few at a time, those under way among them.
func (n *core) bounds(items []sending, found channels) map[*messageRow][]calls.Bound {
	out := make(map[*messageRow][]calls.Bound, len(items))
	for _, it := range items {
		m, t := it.Row, found.turns[it.Row]
		out[m] = n.budget(m)
		most := cmp.Or(n.options.ChannelConcurrency[t.name], math.MaxInt)
		out[m] = append(out[m], calls.Bound{Key: [2]any{n.registry, t.at}, Most: most, Limit: n.watch.Limit(t.at)})
		if most < math.MaxInt && reflect.TypeOf(t.channel).Comparable() {
			out[m] = append(out[m], calls.Bound{Key: account{t.channel}, Most: most})
		}
		if b, ok := t.channel.(channel.Bounded); ok {
			out[m] = append(out[m], calls.OfChannel(t.channel, [3]any{n.registry, m.Scope, t.name}, b.MaxCalls()))
		}
	}
	return out
}

// account is a channel value: what several Notifiers are given is one account.
type account struct{ channel channel.Channel }

// outNow tells the distributor which messages to leave alone: those of which every
// channel is out, until it is time for a probe. Where some scopes have channels of their
// own, the one that the others share cannot be told apart by its key; nor can a scope's
// before this process has asked for it.
func (n *core) outNow(ctx context.Context, from driver.Reader, e *work.Except) error {
	out, err := n.watch.Current(ctx, from)
	if len(out) == 0 {
		return err
	}
	now := driver.Now(n.store)
	shut := func(ways chain) bool {
		isOpen := func(w way) bool { return !out[w.at].IsOut(now) }
		return len(ways) > 0 && !slices.ContainsFunc(ways, isOpen)
	}
	for at := range out {
		if !at.Everywhere && shut(n.watch.waysOf(at)) {
			e.Scoped = append(e.Scoped, driver.ScopedKind{Scope: at.Scope, Kind: at.Channel})
		}
	}
	for key, ways := range n.registry.channels {
		if n.options.Channels == nil && shut(ways) {
			e.Types = append(e.Types, key)
		}
	}
	return err
}

// calm chooses the way of each message: that which it has or the next one that is open,
// else the first that is when the round is over. A channel that is out is open for one
// message if it is time for a probe. Messages without an open way are put off. What
// cannot be read is taken as it was: calls are noted in the same store.
func (n sender) calm(ctx context.Context, items []sending, p parcel) (open []sending) {
	if out, _ := n.watch.Current(ctx, nil); len(out) > 0 {
		items = safeFirst(items, p)
	}
	asked := map[line]bool{}
	for _, it := range items {
		t := p.channels.turns[it.Row]
		if until := n.choose(t, it.Row, asked); !until.IsZero() {
			n.putOff(it.Row, t, until)
			continue
		}
		open = append(open, it)
	}
	return open
}

// safeFirst has a probe be a message whose repeat does no harm, if there is one: it may get
// no answer.
func safeFirst(items []sending, p parcel) []sending {
	unsafe := func(it sending) int {
		can := channel.CapabilitiesOf(p.channels.turns[it.Row].channel)
		if can.EndsDoubts() || it.Row.InDoubt == Resend || it.Row.InDoubt == ResendOnce {
			return 0
		}
		return 1
	}
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b sending) int { return unsafe(a) - unsafe(b) })
	return items
}

// stillOpen gives a claimed message back whose account was found to be out since then. It
// asks the memory alone, right before the call.
func (n sender) stillOpen(it sending, t *turn) bool {
	r := n.watch.Known(t.at)
	if r == nil || t.probe {
		return true
	}
	until := driver.Now(n.store)
	if !t.free(it.Row) { // else another way may be open
		until = later(r.ProbeOn, until)
	}
	n.putOff(it.Row, t, until)
	return false
}

// choose finds an open way for a message, or says when one may open.
func (n sender) choose(t *turn, m *messageRow, asked map[line]bool) (until time.Time) {
	now := driver.Now(n.store)
	try := func(ways chain) bool {
		for i := range ways {
			w := &ways[i]
			opens, isOut := n.watch.closed(w, m.Scope, now), n.watch.Known(w.at) != nil
			if opens.IsZero() && (!isOut || !asked[w.at]) {
				t.way, t.probe = w, isOut
				asked[w.at] = asked[w.at] || isOut
				return true
			}
			if until.IsZero() || opens.Before(until) {
				until = later(opens, now)
			}
		}
		return false
	}
	i := t.chain.index(t.name)
	behind, before := t.chain[i:], t.chain[:i]
	if !t.free(m) {
		behind, before = behind[:1], nil
	}
	switch again := m.NextRetryOn; {
	case try(behind):
		return time.Time{}
	case len(before) == 0 || again.IsZero(): // those before have refused for good
	case again.After(now):
		if again.Before(until) {
			return again
		}
	case try(before):
		t.round = true
		return time.Time{}
	}
	return until
}

// probing takes the probes that were left in, and leaves out those that others have.
func (n sender) probing(ctx context.Context, items []sending, p parcel) (open []sending) {
	for _, it := range items {
		t := p.channels.turns[it.Row]
		if t.probe && !n.watch.Probe(ctx, t.at) {
			until := driver.Now(n.store)
			if !t.free(it.Row) {
				until = n.watch.closed(t.way, it.Row.Scope, until)
			}
			n.putOff(it.Row, t, until) // else another way is open
			continue
		}
		open = append(open, it)
	}
	return open
}

// putOff gives a claimed message back that has no open way. No claim takes it before
// one may open, if it can be told apart by its key.
func (n sender) putOff(m *messageRow, t *turn, until time.Time) {
	m.released(driver.Now(n.store))
	if len(t.all) > 1 || t.at.Everywhere && n.options.Channels != nil {
		m.DueOn = later(until, m.DueOn)
	}
}
