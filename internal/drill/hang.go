package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
)

// What others notice of a channel, or a reminder type, that hangs.
const (
	elsewhereBound = 2 * time.Second
	shareBound     = 0.9
)

// beside is one database, on which something hangs or nothing does, and the program that
// works there.
type beside struct {
	g    *ground
	s    store
	bad  int  // rows of what hangs
	out  bool // what hangs is out after a while, and only probed
	sent sent
	hung sent // calls that hang
	// services make the program; waste fills in what hangs, work what does not.
	services []belfry.Service
	options  belfry.Options
	waste    func(ctx context.Context, n int) error
	work     func(ctx context.Context, n int) error
	say      func(ctx context.Context, name string) error
}

// compare plays the same on a database on which something hangs and on one where
// nothing does, in turns.
func (g *ground) compare(ctx context.Context, make func(s store) *beside, rows, backlog int, what string) (figures []figure, err error) {
	err = g.with(ctx, nil, func(bad store, _ string) error {
		return g.with(ctx, nil, func(good store, _ string) error {
			hung, well := make(bad), make(good)
			hung.bad = rows
			if err := hung.waste(ctx, rows); err != nil {
				return err
			}
			waits, err := hung.elsewhere(ctx)
			if err != nil {
				return err
			}
			share, rates, err := shares(ctx, g.rounds, backlog, hung, well)
			figures = []figure{
				within(fmt.Sprintf("%s, %d rows due: urgent ones elsewhere, p99", what, rows), quantile(waits, 0.99), elsewhereBound),
				atLeast(fmt.Sprintf("throughput elsewhere (%.0f/s without), share", rates), share, shareBound),
			}
			return err
		})
	})
	return figures, err
}

// elsewhere are how long urgent messages take that have nothing to do with what hangs.
func (b *beside) elsewhere(ctx context.Context) (waits []time.Duration, err error) {
	hangs := b.hung.count.after(1)
	stop := b.g.run(ctx, b.s, b.options, b.services...)
	if err = reach(ctx, hangs, "a call that hangs"); err == nil {
		waits, err = b.sent.waits(ctx, b.g.samples, func(name string) error { return b.say(ctx, name) })
	}
	return waits, errors.Join(err, stop())
}

// rate is how many messages a second go out of a backlog.
func (b *beside) rate(ctx context.Context, n int) (float64, error) {
	if err := b.work(ctx, n); err != nil {
		return 0, err
	}
	if err := b.g.settle(ctx, b.s); err != nil {
		return 0, err
	}
	all, hangs := b.sent.count.after(n), b.hung.count.after(1)
	stop := b.g.run(ctx, b.s, b.options, b.services...)
	err := reach(ctx, all, fmt.Sprint(n, " messages"))
	if err == nil && b.bad > 0 && !b.out {
		err = reach(ctx, hangs, "a call that hangs")
	}
	return b.sent.count.rate(), errors.Join(err, stop())
}

// shares is the median of what of its rate one side keeps beside another, and the
// median rate of the other. The sides take turns, and take turns in being first.
func shares(ctx context.Context, rounds, n int, of, against interface {
	rate(ctx context.Context, n int) (float64, error)
}) (share, rate float64, err error) {
	var all, rates []float64
	for i := range rounds {
		first, second := of, against
		if i%2 == 1 {
			first, second = second, first
		}
		a, err := first.rate(ctx, n)
		if err != nil {
			return 0, 0, err
		}
		b, err := second.rate(ctx, n)
		if err != nil {
			return 0, 0, err
		}
		if i%2 == 1 {
			a, b = b, a
		}
		all, rates = append(all, a/b), append(rates, b)
	}
	return median(all), median(rates), nil
}

// hang is a day on which a channel keeps each call until its context ends. Deliberate
// faults: "work: a kind that hangs takes all slots" and "…all room".
func hang(ctx context.Context, g *ground) ([]figure, error) {
	return g.compare(ctx, func(s store) *beside {
		b := &beside{g: g, s: s, out: true}
		out := notify.New(s, &notify.Options{CallTimeout: time.Second, Logger: g.log}, b.sent.channel(wellKey), channel.Func(badKey,
			func(ctx context.Context, _ channel.Message) (channel.Receipt, error) {
				b.hung.count.add(1)
				<-ctx.Done()
				return channel.Receipt{}, ctx.Err()
			}))
		register(out)
		b.services = []belfry.Service{out}
		b.waste = func(ctx context.Context, n int) error { return g.backlog(ctx, s, n, "acme", badKey) }
		b.work = func(ctx context.Context, n int) error { return g.backlog(ctx, s, n, "other", wellKey) }
		b.say = func(ctx context.Context, name string) error {
			_, err := out.Notify(ctx, job("third", codeType, wellKey, name, name))
			return err
		}
		return b
	}, g.hung, g.elsewhere, "a channel hangs")
}

// block is a day on which a reminder type's provider does not answer, each group until
// its time is over.
func block(ctx context.Context, g *ground) ([]figure, error) {
	return g.compare(ctx, func(s store) *beside {
		b := &beside{g: g, s: s, options: belfry.Options{Grace: 100 * time.Millisecond}}
		out := notify.New(s, &notify.Options{Logger: g.log}, b.sent.channel(wellKey))
		reminders := automation.New(s, out, &automation.Options{Logger: g.log})
		remind := func(name string, urgent bool, to automation.RecipientFunc) {
			reminders.Register(automation.ReminderType{Name: name, Urgent: urgent, Template: notify.Template{Subject: name}, Recipients: to})
		}
		remind("bad", false, func(ctx context.Context, _ automation.Due) ([]notify.Recipient, error) {
			b.hung.count.add(1)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		to := func(name func(automation.Due) string) automation.RecipientFunc {
			return func(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
				return []notify.Recipient{{Ref: d.Source.ID, Name: name(d), Channel: wellKey, Address: "p@example.com"}}, nil
			}
		}
		remind("well", false, to(func(automation.Due) string { return "" }))
		remind("urgent", true, to(func(d automation.Due) string { return d.Source.ID }))
		b.services = []belfry.Service{reminders, out}
		b.waste = func(ctx context.Context, n int) error { return g.reminders(ctx, reminders, "acme", "bad", n) }
		b.work = func(ctx context.Context, n int) error { return g.reminders(ctx, reminders, "other", "well", n) }
		b.say = func(ctx context.Context, name string) error {
			_, err := reminders.Ensure(ctx, reminder("third", "urgent", name))
			return err
		}
		return b
	}, g.hung, g.elsewhere/2, "a reminder type blocks")
}

// reminders makes so many due ones of a type.
func (g *ground) reminders(ctx context.Context, s *automation.Scheduler, scope storage.Scope, name string, n int) error {
	g.fills++
	for first := 0; first < n; first += 1000 {
		all := make([]automation.Candidate, min(1000, n-first))
		for i := range all {
			all[i] = reminder(scope, name, fmt.Sprint(g.fills, "-", first+i))
		}
		if _, err := s.Ensure(ctx, all...); err != nil {
			return err
		}
	}
	return nil
}

// reminder is one that was due an hour ago.
func reminder(scope storage.Scope, name, id string) automation.Candidate {
	at := wall.Now().UTC().Add(-time.Hour)
	return automation.Candidate{
		Scope: scope, Type: name, Source: automation.Source{Type: "lesson", ID: id}, SendAt: at.Format("15:04"), Zone: "UTC",
		TargetDate: automation.Date{Year: at.Year(), Month: at.Month(), Day: at.Day()},
	}
}
