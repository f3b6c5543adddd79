package notify

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/outage"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Outage says that a channel takes nothing: calls of it were refused for a reason that
// is the account's or the provider's ([channel.Fault]), such as a revoked key, or twenty in a row had no
// answer and left their messages in doubt. No process sends
// through it then but a probe from time to time, which is one message, until one gets
// through. Messages wait, and no try of theirs is counted.
type Outage struct {
	// Scope is the tenant whose channel it is, where a [ChannelSource] gave it one.
	Scope Scope
	// Everywhere says that it is the channel that all scopes share.
	Everywhere bool
	Channel    string // its key
	// Class and Code are those of the last refusal.
	Class channel.Class
	Code  string
	Since time.Time // UTC, when the first call began that was refused
	// Probes counts the probes so far; the next one is not before ProbeOn.
	Probes  int
	ProbeOn time.Time // UTC
}

func outageOf(r *outage.Row) Outage {
	return Outage{
		Scope: r.Scope, Everywhere: r.Everywhere, Channel: r.Kind, Class: channel.Class(r.Class), Code: r.Code,
		Since: r.Since, Probes: r.Probes, ProbeOn: r.ProbeOn,
	}
}

// Outages lists the outages of channels that a scope sends through, those of shared
// channels first.
func (n Support) Outages(ctx context.Context, scope Scope) (out []Outage, err error) {
	err = n.read(ctx, nil, func(from driver.Reader) error {
		out = nil
		for _, of := range []struct {
			scope      Scope
			everywhere bool
		}{{"", true}, {scope, false}} {
			rows, err := outage.Table.Find(ctx, from, of.scope, driver.Query{
				Where: []driver.Cond{driver.Eq("status", outage.StatusOut), driver.Eq("everywhere", of.everywhere)}, Limit: maxPage,
			})
			if err != nil {
				return err
			}
			for _, r := range rows {
				out = append(out, outageOf(r))
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("notify: Outages: %w", err)
	}
	return out, nil
}

// line is a channel as its credentials are.
type line = outage.Line

// watch is what this process knows of channels: which are out, and by which a scope
// sends.
type watch struct {
	*outage.Watch

	mu     sync.Mutex
	ways   map[line]chain // by scope and the key that messages ask for, as last chosen
	paused []Extent       // as of the last claim
}

func newWatch(store storage.Store, log *slog.Logger, timeout time.Duration) *watch {
	return &watch{Watch: outage.New(store, log, timeout), ways: map[line]chain{}}
}

// answerOf is what a call's error tells of its channel.
func answerOf(e *channel.Error) outage.Answer {
	if e == nil {
		return outage.Answer{}
	}
	return outage.Answer{
		Class: string(e.Class), Code: e.Code, RetryAfter: e.RetryAfter, Named: e.Fault != "", Out: e.Fault.IsOutage(), Policy: e.Fault == channel.FaultPolicy,
	}
}

// pauseAge is how long a message is put off that stays with a channel which is paused.
const pauseAge = time.Minute

// closed says when a way may open that is out or paused; zero: it is open, if only for
// a probe.
func (w *watch) closed(of *way, scope Scope, now time.Time) (until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.paused {
		if e.Channel == of.name && (e.Everywhere || e.Scope == scope) {
			until = now.Add(pauseAge)
		}
	}
	if r := w.Known(of.at); r.IsOut(now) {
		until = later(r.ProbeOn, until)
	}
	return until
}

// pausedNow keeps what a claim has read.
func (w *watch) pausedNow(all []Extent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paused = all
}

// learn keeps what a scope sends by, so that claims leave its messages alone while all
// of that is out.
func (w *watch) learn(asked line, ways chain) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ways[asked] = ways
}

func (w *watch) waysOf(asked line) chain {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ways[asked]
}
