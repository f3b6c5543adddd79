package notify

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
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
	Channel(ctx context.Context, scope Scope, key string) (Channel, error)
}

// channels are those of one key by scope.
type channels struct {
	own     Channel
	byScope map[Scope]Channel // nil: all have the process's own
}

func (c channels) of(m *OutgoingMessage) Channel {
	if c.byScope == nil {
		return c.own
	}
	return c.byScope[m.Scope]
}

// channelsOf finds the channels for a group, whose messages have one key. For those
// that cannot be found, failed settles the message.
func (n *Notifier) channelsOf(ctx context.Context, items []sending, failed func(sending)) ([]sending, channels, error) {
	key := items[0].Row.Type
	out := channels{own: n.registry.channels[key]}
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
			if c := n.choose(ctx, scope, key, out.own); c != nil {
				out.byScope[scope] = c
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

// choose is the channel for a scope, or nil if there is none now.
func (n *Notifier) choose(ctx context.Context, scope Scope, key string, own Channel) (c Channel) {
	err := work.Guard(func() (err error) {
		c, err = n.options.Channels.Channel(ctx, scope, key)
		return err
	})
	n.logPanic("a channel source panicked", err, slog.String("channel", key))
	if err == nil && c == nil {
		c = own
	}
	if err != nil || c == nil {
		n.options.Logger.ErrorContext(ctx, "belfry: no channel", slog.String("channel", key), slog.String("scope", string(scope)))
		return nil
	}
	return c
}

// unserved settles a message whose channel could not be found.
func (n *Notifier) unserved(it sending) {
	now := storage.Now(n.store)
	if it.Ctx.Err() != nil {
		it.Row.released(now)
		return
	}
	it.Row.unasked(now, ReasonNoChannel)
}
