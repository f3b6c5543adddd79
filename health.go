package belfry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

const (
	// missed is how many intervals a pass may lack an answer of the store, and patience is
	// the minimum of that time.
	missed   = 3
	patience = 10 * time.Second
	// stuckAfter is how much longer than an interval one cycle of a loop may take. A
	// database that does not answer delays it by a minute.
	stuckAfter = 5 * time.Minute
	// readyTime is the timeout of Ready's query.
	readyTime = 2 * time.Second
)

// Ready reports whether the poller works: Run has begun and not ended, the store answers
// within two seconds, and has answered a poll of each pass within the last three
// intervals, or ten seconds if that is more. A pass that waits for handlers to end is
// ready. The error says what is wrong, in which pass and since when, and wraps the
// store's error. Use it for a readiness probe.
func (p *Poller) Ready(ctx context.Context) error {
	if p.runs.Load() == 0 {
		return errors.New("belfry: the poller does not run")
	}
	for _, loop := range p.loops() {
		switch late := max(missed*p.options.Interval, patience); {
		case !loop.Begun:
			return fmt.Errorf("belfry: %s has not begun", loop.Pass)
		case loop.Answered && loop.Polled <= late:
		case loop.Err != nil:
			return fmt.Errorf("belfry: %s has not polled %s: %w", loop.Pass, p.since(loop.Polled), loop.Err)
		default:
			return fmt.Errorf("belfry: %s has not polled %s", loop.Pass, p.since(loop.Polled))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	err := p.store.View(ctx, func(from driver.Reader) error {
		_, err := driver.StoredIdentity(ctx, from)
		return err
	})
	if err != nil {
		return fmt.Errorf("belfry: the store does not answer: %w", err)
	}
	return nil
}

// Live reports whether every loop of Run still cycles, within five minutes and an
// interval. A database that is away or handlers that hang do not make it fail, so an
// error means that the process must be restarted. The error says which pass is stuck and
// since when. A poller that does not run is live. Use it for a liveness probe.
func (p *Poller) Live() error {
	for _, loop := range p.loops() {
		if loop.Begun && loop.Turned > p.options.Interval+stuckAfter {
			return fmt.Errorf("belfry: %s is stuck %s", loop.Pass, p.since(loop.Turned))
		}
	}
	return nil
}

// loops lists all loops while Run runs.
func (p *Poller) loops() (all []work.Liveness) {
	if p.runs.Load() == 0 {
		return nil
	}
	for _, r := range p.runners {
		all = append(all, r.Liveness()...)
	}
	return all
}

// since says when that was.
func (p *Poller) since(ago time.Duration) string {
	return fmt.Sprintf("since %s (%s)", p.store.Clock().Now().Add(-ago).UTC().Format(time.RFC3339), ago.Truncate(time.Second))
}

// Health combines the answers of all services' Health methods, and adds calls of this
// process that do not return. See [health.Summary] for its limits.
func (p *Poller) Health(ctx context.Context, reach storage.ScopeFilter) (health.Summary, error) {
	var out health.Summary
	for i, s := range p.services {
		of, err := s.Health(ctx, reach)
		if err != nil {
			return health.Summary{}, err
		}
		if i == 0 {
			out = of
			continue
		}
		out.Due, out.DueCapped = append(out.Due, of.Due...), out.DueCapped || of.DueCapped
		out.Holds, out.Doubts = append(out.Holds, of.Holds...), append(out.Doubts, of.Doubts...)
		out.DeadLetters, out.Pauses = append(out.DeadLetters, of.DeadLetters...), append(out.Pauses, of.Pauses...)
		out.Outages = withOutages(out.Outages, of.Outages)
		out.Lost, out.Skipped = append(out.Lost, of.Lost...), append(out.Skipped, of.Skipped...)
		out.LeaseLosses += of.LeaseLosses
	}
	out.Stuck = p.stuck(reach)
	var err error
	if out.Forgotten, err = p.forgotten(ctx); err != nil {
		return health.Summary{}, err
	}
	out.Retention, err = p.sweep.Retained(ctx)
	return out, err
}

// withOutages adds the outages that no other service has reported.
func withOutages(all, more []health.Outage) []health.Outage {
	for _, o := range more {
		told := slices.ContainsFunc(all, func(a health.Outage) bool {
			return a.Scope == o.Scope && a.Everywhere == o.Everywhere && a.Channel == o.Channel
		})
		if !told {
			all = append(all, o)
		}
	}
	return all
}

// stuck combines the reports of the runners, the oldest first.
func (p *Poller) stuck(reach storage.ScopeFilter) (out []health.Stuck) {
	scope, one := reach.Scope()
	for _, r := range p.runners {
		for _, loop := range r.Liveness() {
			for _, s := range loop.Stuck {
				if !one || s.Scope == scope {
					out = addStuck(out, health.Stuck{Pass: s.Pass, Kind: s.Kind, Rows: s.Rows, Since: s.Since})
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b health.Stuck) int { return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Kind, b.Kind)) })
	return out
}

func addStuck(all []health.Stuck, more health.Stuck) []health.Stuck {
	for i := range all {
		if of := &all[i]; of.Pass == more.Pass && of.Kind == more.Kind {
			of.Rows += more.Rows
			if more.Since.Before(of.Since) {
				of.Since = more.Since
			}
			return all
		}
	}
	return append(all, more)
}
