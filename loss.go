package belfry

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/loglimit"
	"github.com/belfry-go/belfry/storage/driver"
)

// watchLosses raises the alarm whenever the store finds that its database has lost
// acknowledged commits, until ctx ends.
func (p *Poller) watchLosses(ctx context.Context) {
	for {
		news := p.store.Losses().News()
		p.alarm(ctx)
		select {
		case <-ctx.Done():
			return
		case <-news:
		}
	}
}

// alarm logs the losses since the last alarm, and tells the other processes.
func (p *Poller) alarm(ctx context.Context) {
	last := p.store.Losses().Last()
	if was, _ := p.alarmed.Swap(last).(driver.Loss); last == was {
		return
	}
	text := "belfry: the database has forgotten commits from " + last.From.Format(time.RFC3339) + " on"
	p.options.Logger.LogAttrs(loglimit.Always(ctx), slog.LevelError, text,
		slog.Time("from", last.From), slog.Time("until", last.Until), slog.Time("noticed", last.NoticedOn))
	if _, err := p.store.Identity(ctx); err != nil {
		p.options.Logger.WarnContext(ctx, "belfry: the loss could not be told to other processes yet", "error", err)
	}
}

// forgotten is the loss that any process has found.
func (p *Poller) forgotten(ctx context.Context) (out health.Forgotten, err error) {
	err = p.store.View(ctx, func(from driver.Reader) error {
		id, err := driver.StoredIdentity(ctx, from)
		if id.Loss.Open() {
			out = health.Forgotten{From: id.Loss.From, Until: id.Loss.Until, NoticedOn: id.Loss.NoticedOn}
		}
		if errors.Is(err, driver.ErrNotFound) { // nothing was sent yet
			return nil
		}
		return err
	})
	return out, err
}
