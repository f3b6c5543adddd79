package notify

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/belfry-go/belfry/internal/backlog"
	"github.com/belfry-go/belfry/internal/loglimit"
	"github.com/belfry-go/belfry/internal/unserved"
	"github.com/belfry-go/belfry/storage/driver"
)

// transports are the keys of the channels of this process, those of chains too.
func (n *core) transports() []string {
	all := n.channelKeys()
	for key := range n.registry.members {
		all = append(all, key)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// maxStrangers bounds how many names a process warns of.
const maxStrangers = 100

// strangers are the channels and types that something was made for and this process does
// not have.
type strangers struct {
	mu   sync.Mutex
	said map[string]bool
}

// first reports whether a key is named for the first time.
func (s *strangers) first(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said[key] || len(s.said) == maxStrangers {
		return false
	}
	if s.said == nil {
		s.said = map[string]bool{}
	}
	s.said[key] = true
	return true
}

// warnOfStrangers logs once each channel that messages ask for and this process does not
// have: it is misspelt, or another process sends by it. A process without channels leaves
// all of them to others, and a [ChannelSource] may have the channel later.
func (n *core) warnOfStrangers(ctx context.Context, asked []string) {
	here := n.transports()
	if len(here) == 0 || n.options.Channels != nil {
		return
	}
	for _, key := range asked {
		if key != "" && !slices.Contains(here, key) && n.strangers.first("channel "+key) {
			n.options.Logger.WarnContext(loglimit.Always(ctx), "belfry: a message is for a channel that this process does not have: it is misspelt, or another process sends it",
				slog.String("channel", key), slog.String("registered", strings.Join(here, ", ")))
		}
	}
}

// warnOfTypes does the same for types of jobs: here nothing is made of them. A process that
// has neither types nor channels leaves all of them to others.
func (n *core) warnOfTypes(ctx context.Context, asked ...string) {
	here := n.registry.typeNames()
	if len(here) == 0 && len(n.transports()) == 0 {
		return
	}
	for _, name := range asked {
		if name != "" && !slices.Contains(here, name) && n.strangers.first("type "+name) {
			n.options.Logger.WarnContext(loglimit.Always(ctx), "belfry: a job is of a type that is not registered in this process: it is misspelt, or another process makes its messages; after UnclaimedAfter it is on hold",
				slog.String("type", name), slog.String("registered", strings.Join(here, ", ")))
		}
	}
}

// unknownName is the name of a type or channel that no process has or had, and of which
// nothing waits.
type unknownName struct {
	what, name string
	registered []string
}

func (e unknownName) Error() string {
	return fmt.Sprintf("%s %q is not registered (registered: %s)", e.what, e.name, strings.Join(e.registered, ", "))
}

func (unknownName) Unwrap() error { return ErrActionRefused }

// column is where rows of a table have the name of a type or channel.
type column struct {
	of   *driver.Schema
	name string
}

// checkKnown refuses an extent whose type or channel is not known to any process.
func (n *core) checkKnown(ctx context.Context, from driver.Reader, e Extent) error {
	switch {
	case e.Type != "":
		return checkName(ctx, from, unknownName{"type", e.Type, n.registry.typeNames()},
			column{&schedules.Schema, "kind"}, column{&jobs.Schema, "kind"}, column{&messagingJobs.Schema, "kind"}, column{&outgoingMessages.Schema, "notification_type"})
	case e.Channel != "":
		return checkName(ctx, from, unknownName{"channel", e.Channel, n.transports()}, column{&outgoingMessages.Schema, "kind"})
	}
	return nil
}

// checkName passes a name that this process has, that another has or had, or that something
// waiting has. The first column is of the table of which each process serves all that it
// has. Where nothing is registered, nothing can be told.
func checkName(ctx context.Context, from driver.Reader, e unknownName, in ...column) error {
	if slices.Contains(e.registered, e.name) {
		return nil
	}
	elsewhere, err := unserved.Served(ctx, from, in[0].of.Name)
	if err != nil {
		return err
	}
	e.registered = slices.Compact(slices.Sorted(slices.Values(append(e.registered, elsewhere...))))
	if len(e.registered) == 0 || slices.Contains(e.registered, e.name) {
		return nil
	}
	for _, c := range in {
		if waits, err := c.waits(ctx, from, e.name); err != nil || waits {
			return err
		}
	}
	return e
}

// waits reports whether a due row has a value in the column, as far as Health looks.
func (c column) waits(ctx context.Context, from driver.Reader, value string) (bool, error) {
	lanes, _, err := backlog.LanesOf(ctx, from, c.of)
	if err != nil {
		return false, err
	}
	for _, lane := range lanes {
		found, err := from.CountBy(ctx, c.of, driver.Everywhere(), driver.CountBy{
			By: []string{c.name}, Where: []driver.Cond{driver.Eq("lane", int64(lane)), driver.NotNull("due_on")}, OrderBy: "due_on", Limit: backlog.Limit,
		})
		if err != nil {
			return false, err
		}
		for _, g := range found {
			if *c.of.Column(c.name).Text(driver.FieldsOf(g.Row)) == value {
				return true, nil
			}
		}
	}
	return false, nil
}
