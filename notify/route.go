package notify

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/belfry-go/belfry/internal/calls"
	"github.com/belfry-go/belfry/internal/hush"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// ChannelSource chooses the channel for each scope: with its own credentials, From
// and Reply-To. It is called from several goroutines, for each group of messages,
// so it keeps the channels that it has made.
//
//spec:f-010
type ChannelSource interface {
	// Keys are the keys that it has channels for. This process claims messages of
	// these beside those of its own channels. It is asked before each claim and may
	// change.
	Keys() []string
	// Channel gives the channel of that key for a scope; its own Key does not
	// matter. Nil without an error leaves the choice to the process's own channel of
	// that key. After an error the messages of the scope are tried again with
	// back-off, and then wait for a person.
	Channel(ctx context.Context, scope Scope, key string) (Channel, error)
}

// channels are those of one key by scope.
type channels struct {
	key     string
	own     Channel
	byScope map[Scope]Channel // nil: all have the process's own
	theirs  map[Scope]bool    // scopes whose channel is not the process's own
}

// line is the channel of a message by whose credentials it has.
func (c channels) line(m *messageRow) line {
	if c.theirs[m.Scope] {
		return line{scope: m.Scope, channel: c.key}
	}
	return line{everywhere: true, channel: c.key}
}

func (c channels) of(m *messageRow) Channel {
	if c.byScope == nil {
		return c.own
	}
	return c.byScope[m.Scope]
}

// channelsOf finds the channels for a group, whose messages have one key. For those
// that cannot be found, failed settles the message.
func (n generator) channelsOf(ctx context.Context, items []sending, failed func(sending)) ([]sending, channels, error) {
	key := items[0].Row.Kind
	out := channels{key: key, own: n.registry.channels[key], theirs: map[Scope]bool{}}
	if n.options.Channels == nil {
		if out.own == nil {
			return nil, out, fmt.Errorf("notify: no channel %q here", key)
		}
		return items, out, nil
	}
	out.byScope = map[Scope]Channel{}
	asked := map[Scope]bool{}
	var open []sending
	for _, it := range items {
		if scope := it.Row.Scope; !asked[scope] {
			asked[scope] = true
			if c, theirs := n.choose(ctx, scope, key, out.own); c != nil {
				out.byScope[scope], out.theirs[scope] = c, theirs
			}
		}
		if out.of(it.Row) == nil {
			failed(it)
			continue
		}
		open = append(open, it)
	}
	return open, out, nil
}

// choose is the channel for a scope, or nil if there is none now, and whether it is the
// scope's.
func (n generator) choose(ctx context.Context, scope Scope, key string, own Channel) (c Channel, theirs bool) {
	err := work.Guard(func() (err error) {
		c, err = n.options.Channels.Channel(ctx, scope, key)
		return err
	})
	n.logPanic("a channel source panicked", err, slog.String("channel", key))
	theirs = c != nil
	if err == nil && c == nil {
		c = own
	}
	if err != nil || c == nil {
		hush.Error(ctx, n.options.Logger, "belfry: no channel", slog.String("channel", key), slog.String("scope", string(scope)))
		return nil, false
	}
	return c, theirs
}

// unserved settles a message whose channel could not be found.
func (n generator) unserved(it sending) {
	now := driver.Now(n.store)
	if it.Ctx.Err() != nil {
		it.Row.released(now)
		return
	}
	it.Row.unasked(now, ReasonNoChannel)
}

// bounds are those of the channels of a group: by the options, and by themselves. A
// call is noted as started when its connection is free, or a crash would leave a doubt
// about a message that only waited for one.
func (n *core) bounds(items []sending, found channels) map[*messageRow][]calls.Bound {
	out := make(map[*messageRow][]calls.Bound, len(items))
	for _, it := range items {
		m := it.Row
		if most, ok := n.options.ChannelConcurrency[m.Kind]; ok {
			out[m] = append(out[m], calls.Bound{Key: [2]any{n.registry, m.Kind}, Most: most})
		}
		c := found.of(m)
		if b, ok := c.(Bounded); ok {
			out[m] = append(out[m], calls.OfChannel(c, [3]any{n.registry, m.Scope, m.Kind}, b.MaxCalls()))
		}
	}
	return out
}

// outNow tells the distributor which messages to leave alone: those of channels that
// are out, until it is time for a probe. Where some scopes have channels of their own,
// the one that the others share cannot be told apart by its key.
func (n *core) outNow(ctx context.Context, tx storage.Tx, e *work.Except) error {
	out, err := n.watch.current(ctx, tx)
	now := driver.Now(n.store)
	for at, r := range out {
		switch {
		case !now.Before(r.ProbeOn):
		case !at.everywhere:
			e.Scoped = append(e.Scoped, driver.ScopedKind{Scope: at.scope, Kind: at.channel})
		case n.options.Channels == nil:
			e.Types = append(e.Types, at.channel)
		}
	}
	return err
}

// calm leaves out messages of channels that are out, but for one of each that may be
// its probe if it is time for one. What cannot be read is taken as it was: calls are
// noted in the same store.
func (n sender) calm(ctx context.Context, items []sending, p parcel) (open []sending) {
	out, _ := n.watch.current(ctx, nil)
	now, asked := driver.Now(n.store), map[line]bool{}
	for _, it := range items {
		at := p.channels.line(it.Row)
		r := out[at]
		switch {
		case r == nil:
		case now.Before(r.ProbeOn) || asked[at]:
			n.putOff(it.Row, r)
			continue
		default:
			asked[at] = true
			p.probes[it.Row] = true
		}
		open = append(open, it)
	}
	return open
}

// probing takes the probes that were left in, and leaves out those that others have.
func (n sender) probing(ctx context.Context, items []sending, p parcel) (open []sending) {
	for _, it := range items {
		if at := p.channels.line(it.Row); p.probes[it.Row] && !n.watch.probe(ctx, at) {
			n.putOff(it.Row, n.watch.known(at))
			continue
		}
		open = append(open, it)
	}
	return open
}

// putOff gives a claimed message back whose channel is out. No claim takes it before
// the next probe, if it can be told apart by its key.
func (n sender) putOff(m *messageRow, r *outageRow) {
	now := driver.Now(n.store)
	m.released(now)
	if r != nil && r.Everywhere && n.options.Channels != nil {
		m.DueOn = later(r.ProbeOn, m.DueOn)
	}
}
