package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
)

// What a tenant notices of one that floods, and of having thousands beside it.
const (
	neighbourBound = 250 * time.Millisecond
	tenantsBound   = 0.8
)

// flood is a day on which a tenant has a million messages due on a lane: those of another
// tenant on the same lane and channel go out all the same.
func flood(ctx context.Context, g *ground) (figures []figure, err error) {
	err = g.with(ctx, nil, func(s store, _ string) error {
		var sent sent
		out := notify.New(s, &notify.Options{Logger: g.log}, sent.channel(wellKey))
		register(out)
		if err := g.backlog(ctx, s, g.flood, "flood", wellKey); err != nil {
			return err
		}
		flows := sent.count.after(min(5000, g.flood/4))
		stop := g.run(ctx, s, belfry.Options{}, out)
		err := reach(ctx, flows, "the flood's first messages")
		var waits []time.Duration
		if err == nil {
			waits, err = sent.waits(ctx, g.samples, func(name string) error {
				_, err := out.Notify(ctx, job("other", newsType, wellKey, name, name))
				return err
			})
		}
		if err = errors.Join(err, stop()); err != nil {
			return err
		}
		left := g.flood - sent.count.total()
		figures = []figure{
			within(fmt.Sprintf("a tenant floods a lane with %d rows: another's, p99", g.flood), quantile(waits, 0.99), neighbourBound),
			atLeast("rows of the flood left then", left, 1),
		}
		return nil
	})
	return figures, err
}

// tenants is a day on which each message belongs to another tenant.
func tenants(ctx context.Context, g *ground) (figures []figure, err error) {
	err = g.with(ctx, nil, func(s store, _ string) error {
		many, one := &spread{g: g, s: s, tenants: g.tenants}, &spread{g: g, s: s, tenants: 1}
		for _, side := range []*spread{many, one} { // the first time is not like the others
			if _, err := side.rate(ctx, g.messages/5); err != nil {
				return err
			}
		}
		share, rate, err := shares(ctx, g.rounds, g.messages, many, one)
		figures = []figure{atLeast(
			fmt.Sprintf("%d messages over %d tenants against one (%.0f/s), share", g.messages, g.tenants, rate), share, tenantsBound)}
		return err
	})
	return figures, err
}

// spread sends messages of so many tenants.
type spread struct {
	g       *ground
	s       store
	tenants int
}

// rate is how many messages a second go from Ensure to the channel.
func (t *spread) rate(ctx context.Context, n int) (float64, error) {
	var sent sent
	out := notify.New(t.s, &notify.Options{Logger: t.g.log}, sent.channel(wellKey))
	register(out)
	if err := t.g.settle(ctx, t.s); err != nil {
		return 0, err
	}
	t.g.fills++
	all := sent.count.after(n)
	began := wall.Now()
	for first := 0; first < n; first += 1000 {
		var jobs []notify.Job
		var schedules []notify.Schedule
		for i := first; i < min(first+1000, n); i++ {
			key := fmt.Sprint(t.g.fills, "-", i)
			j := job(notify.Scope(fmt.Sprint("tenant ", i*7919%t.tenants)), newsType, wellKey, "", key)
			jobs, schedules = append(jobs, j), append(schedules, notify.ScheduleFor(j, time.Time{}))
		}
		if _, err := out.EnsureNotificationJob(ctx, nil, jobs...); err != nil {
			return 0, err
		}
		if _, err := out.EnsureNotificationScheduler(ctx, nil, schedules...); err != nil {
			return 0, err
		}
	}
	stop := t.g.run(ctx, t.s, belfry.Options{}, out)
	err := reach(ctx, all, fmt.Sprint(n, " messages"))
	took := wall.Since(began)
	return float64(n) / took.Seconds(), errors.Join(err, stop())
}
