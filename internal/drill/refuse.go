package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
)

// The provider's rate, messages a second, and what of it a queue must reach that drains.
const (
	providerRate = 5
	drainBound   = 0.8
)

// refuse is a day, on a simulated clock, on which the provider's port is closed. A mail
// is ensured each minute, every tenth one a code that is valid for ten minutes.
func refuse(ctx context.Context, g *ground) (figures []figure, err error) {
	clk := clock.NewMock()
	clk.Set(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	err = g.with(ctx, clk, func(s store, _ string) error {
		r, err := newRefusal(g, s, clk)
		if err != nil {
			return err
		}
		if err := r.day(ctx); err != nil {
			return err
		}
		share, err := r.drain(ctx)
		if err != nil {
			return err
		}
		failed, err := count(ctx, s, "SELECT count(*) FROM outgoing_message WHERE status = '"+notify.StatusFailedFinal+"'")
		what := fmt.Sprintf("%v of refusals:", g.refused)
		figures = []figure{
			none(what+" messages failed for good", failed),
			none(what+" stale messages sent", r.stale),
			atMost(what+" probes in a second:", r.perSecond(), 1),
			none(what+" messages not settled in the end", r.wanted-r.settled),
			atLeast(fmt.Sprintf("%s drained at %d/s, share of it", what, providerRate), share, drainBound),
		}
		return err
	})
	return figures, err
}

// refusal is that day.
type refusal struct {
	g      *ground
	s      store
	clk    *clock.Mock
	out    *notify.Notifier
	poller *belfry.Poller

	address         string
	calls           []time.Time // that were refused
	sent            []time.Time
	validity        map[string]time.Time
	wanted, settled int
	stale           int
}

func newRefusal(g *ground, s store, clk *clock.Mock) (*refusal, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &refusal{g: g, s: s, clk: clk, address: l.Addr().String(), validity: map[string]time.Time{}}
	if err := l.Close(); err != nil {
		return nil, err
	}
	r.out = notify.New(s, &notify.Options{
		Logger: g.log, Concurrency: 1, // calls are noted without a lock
		Gates: gate.New(s, &gate.Options{Rates: []gate.Rate{{Channel: wellKey, Limit: providerRate, Per: time.Second}}}),
	}, channel.Func(wellKey, r.send))
	register(r.out)
	r.out.Register(notify.Type{Name: "brief", Renderer: notify.Template{Subject: "Your code"}, Validity: 10 * time.Minute})
	r.poller = belfry.NewPoller(s, &belfry.Options{Logger: g.log, Concurrency: 1}, r.out)
	return r, nil
}

// send is a call of the provider.
func (r *refusal) send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.address)
	if err != nil {
		r.calls = append(r.calls, r.clk.Now())
		return channel.Receipt{}, err
	}
	r.sent = append(r.sent, r.clk.Now())
	if until, ok := r.validity[m.Name]; ok && !r.clk.Now().Before(until) {
		r.stale++
	}
	return channel.Receipt{ID: m.ID}, conn.Close()
}

// day lets the time pass: in seconds at first, then in halves of a minute.
func (r *refusal) day(ctx context.Context) error {
	const fine = 5
	for minute := range int(r.g.refused / time.Minute) {
		if err := r.say(ctx, minute); err != nil {
			return err
		}
		steps := 2
		if minute < fine {
			steps = 60
		}
		for range steps {
			if _, err := r.poller.PollOnce(ctx, 100); err != nil {
				return err
			}
			r.clk.Add(time.Minute / time.Duration(steps))
		}
	}
	return nil
}

func (r *refusal) say(ctx context.Context, minute int) error {
	name, kind := fmt.Sprint("m", minute), newsType
	if minute%10 == 9 {
		kind, r.validity[name] = "brief", r.clk.Now().Add(10*time.Minute)
	}
	r.wanted++
	_, err := r.out.Notify(ctx, job("acme", kind, wellKey, name, name))
	return err
}

// drain opens the provider's port, and returns how much of its rate the queue used.
func (r *refusal) drain(ctx context.Context) (share float64, err error) {
	l, err := net.Listen("tcp", r.address)
	if err != nil {
		return 0, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close() // that it was there is enough
		}
	}()
	defer func() { err = errors.Join(err, l.Close()); <-ended }()
	for range 10 + 2*r.wanted { // seconds
		if _, err := r.poller.PollOnce(ctx, 100); err != nil {
			return 0, err
		}
		open, err := count(ctx, r.s, "SELECT count(*) FROM outgoing_message WHERE due_on IS NOT NULL")
		if err != nil {
			return 0, err
		}
		if r.settled = r.wanted - open; open == 0 {
			break
		}
		r.clk.Add(time.Second)
	}
	took := r.sent[len(r.sent)-1].Sub(r.sent[0]) + time.Second
	return float64(len(r.sent)) / (providerRate * took.Seconds()), nil
}

// perSecond is the most refused calls within a second, after the first moment, at which
// they could not know.
func (r *refusal) perSecond() (most int) {
	for i, from := range r.calls {
		n := 0
		for _, c := range r.calls[i:] {
			if c.Sub(from) < time.Second && c.After(r.calls[0]) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
