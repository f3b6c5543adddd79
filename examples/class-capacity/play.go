package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
)

// outbox is the channel: it keeps what it is to send.
type outbox struct {
	mu   sync.Mutex // Send is called from several goroutines
	sent []mail
}

type mail struct{ name, key string }

func (o *outbox) send(_ context.Context, m notify.Message) (notify.Receipt, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sent = append(o.sent, mail{m.Name, m.Text})
	return notify.Receipt{ID: m.ID}, nil
}

// play brings the history about.
type play struct {
	clk       *clock.Mock
	reminders *automation.Scheduler
	poller    *belfry.Poller
	mails     *outbox
}

// all gives what each step led to, the keys by subscriber, and an error where
// that is not what it should be.
func (p play) all(ctx context.Context) ([]map[string][]string, error) {
	var told []map[string][]string
	for _, s := range history {
		p.clk.Set(s.at)
		if err := p.happens(ctx, s); err != nil {
			return nil, err
		}
		p.mails.sent = nil
		if err := p.poller.Drain(ctx); err != nil {
			return nil, err
		}
		heard := map[string][]string{}
		for _, m := range p.mails.sent {
			heard[m.name] = append(heard[m.name], m.key)
		}
		for i, who := range subscribers {
			slices.Sort(heard[who.name])
			if got := cell(heard[who.name]); got != s.told[i] {
				return nil, fmt.Errorf("%s, %s: %s hears of %q and should of %q", s.at, s.what, who.name, got, s.told[i])
			}
		}
		told = append(told, heard)
	}
	return told, nil
}

// happens tells of a step, if there is something to tell.
func (p play) happens(ctx context.Context, s step) error {
	if s.version == 0 {
		return nil
	}
	got, err := p.reminders.HandleEvent(ctx, automation.Event{
		Type: changed, Source: automation.Source{Type: "class", ID: "yoga"}, Version: s.version, Data: s.taken,
	})
	if err == nil && got.Outcome != s.outcome {
		err = fmt.Errorf("%s, %s: %s and not %s", s.at, s.what, got.Outcome, s.outcome)
	}
	return err
}

// cell names the lines of keys.
func cell(all []string) string {
	var values []string
	for _, key := range all {
		parsed, err := keys.Parse(key)
		if k, ok := parsed.(keys.Threshold); err == nil && ok {
			values = append(values, k.Value)
		}
	}
	return strings.Join(values, " ")
}
