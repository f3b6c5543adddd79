package notify

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/internal/backlog"
	"github.com/belfry-go/belfry/internal/unserved"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// checkKnown refuses a part of the sending whose type or channel is not known to anybody.
func (n *core) checkKnown(ctx context.Context, from driver.Reader, e Extent) error {
	switch {
	case e.Type != "":
		return known{
			what: "type", name: e.Type, all: n.registry.typeNames(), column: "notification_type",
			served: []*driver.Schema{&schedules.Schema, &jobs.Schema, &messagingJobs.Schema},
		}.check(ctx, from)
	case e.Channel != "":
		return known{
			what: "channel", name: e.Channel, all: n.transports(), column: "kind", served: []*driver.Schema{&outgoingMessages.Schema},
		}.check(ctx, from)
	}
	return nil
}

// transports are the keys of the channels of this process, those of chains too.
func (n *core) transports() []string {
	all := n.channelKeys()
	for key := range n.registry.members {
		all = append(all, key)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// known is a name that somebody gave to a type or a channel.
type known struct {
	what, name string
	all        []string         // what this process has, and others have
	served     []*driver.Schema // the tables whose rows have it for a kind
	column     string           // where messages have it
}

// check refuses a name that no process has served, and that nothing waiting has.
func (k known) check(ctx context.Context, from driver.Reader) error {
	if slices.Contains(k.all, k.name) {
		return nil
	}
	for _, s := range k.served {
		elsewhere, err := unserved.Served(ctx, from, s.Name)
		if err != nil {
			return err
		}
		k.all = append(k.all, elsewhere...)
		if waits, err := waiting(ctx, from, s, "kind", k.name); err != nil || waits {
			return err
		}
	}
	if waits, err := waiting(ctx, from, &outgoingMessages.Schema, k.column, k.name); err != nil || waits {
		return err
	}
	slices.Sort(k.all)
	if k.all = slices.Compact(k.all); len(k.all) == 0 || slices.Contains(k.all, k.name) {
		return nil // where nothing is known, nobody can tell
	}
	return k
}

// Error says what is registered instead.
func (k known) Error() string {
	return fmt.Sprintf("%s %q is not registered (registered: %s)", k.what, k.name, strings.Join(k.all, ", "))
}

// Unwrap is for those who pause it.
func (known) Unwrap() error { return ErrActionRefused }

// checkChannels refuses messages by a channel whose key is misspelt: this process sends by
// the same method, and no process has or had a channel of that key. A process without
// channels of the method leaves it to those who send.
func (n *core) checkChannels(ctx context.Context, tx storage.Tx, asked []string) error {
	if n.options.Channels != nil {
		return nil
	}
	here := n.transports()
	checked := map[string]bool{}
	for _, key := range asked {
		sends := func(own string) bool { return channel.Method(own) == channel.Method(key) }
		if key == "" || checked[key] || slices.Contains(here, key) || !slices.ContainsFunc(here, sends) {
			continue
		}
		checked[key] = true
		err := n.read(ctx, tx, func(from driver.Reader) error { return n.checkKnown(ctx, from, Extent{Channel: key}) })
		if err != nil {
			return fmt.Errorf("notify: %w", err)
		}
	}
	return nil
}

// waiting reports whether a due row has a value in a column, as far as Health looks.
func waiting(ctx context.Context, from driver.Reader, s *driver.Schema, column, value string) (bool, error) {
	lanes, _, err := backlog.LanesOf(ctx, from, s)
	if err != nil {
		return false, err
	}
	for _, lane := range lanes {
		found, err := from.CountBy(ctx, s, driver.Everywhere(), driver.CountBy{
			By: []string{column}, Where: []driver.Cond{driver.Eq("lane", int64(lane)), driver.NotNull("due_on")}, OrderBy: "due_on", Limit: backlog.Limit,
		})
		if err != nil {
			return false, err
		}
		for _, g := range found {
			if *s.Column(column).Text(driver.FieldsOf(g.Row)) == value {
				return true, nil
			}
		}
	}
	return false, nil
}
