package survey

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// call makes the calls of a group at once, after one write that says that they
// begin, and waits for them.
func (s *Service) call(ctx context.Context, items []*sending, one func(*sending)) error {
	started, err := s.startCalls(ctx, items)
	each(started, one)
	return err
}

// startCalls commits, in one write fenced by the versions, that the calls are
// about to begin. After a crash only these sends are in doubt. It returns those
// that are still ours: a row that was completed, stopped or held since its claim is
// not.
func (s *Service) startCalls(ctx context.Context, items []*sending) ([]*sending, error) {
	if len(items) == 0 {
		return nil, nil
	}
	now := storage.Now(s.store)
	rows := make([]*Instance, len(items))
	for i, it := range items {
		rows[i] = it.Row
		it.Row.calling(now)
	}
	ours, err := work.Start(ctx, s.store, instances, now.Add(items[0].Lease), rows)
	var started []*sending
	for i, it := range items {
		if err != nil || !ours[i] || it.Ctx.Err() != nil {
			it.Row.uncalled()
			continue
		}
		it.message.On, it.message.To = now, cmp.Or(it.redirect, it.message.To)
		started = append(started, it)
	}
	return started, err
}

// each runs f for all items at once and waits.
func each(items []*sending, f func(*sending)) {
	var wg sync.WaitGroup
	for _, it := range items {
		wg.Go(func() { f(it) })
	}
	wg.Wait()
}

// callOne is the one call of a claim.
func (s *Service) callOne(it *sending) {
	ctx, cancel := context.WithTimeout(it.Ctx, s.options.CallTimeout)
	defer cancel()
	var receipt notify.Receipt
	err := work.Guard(func() (err error) {
		receipt, err = it.channel.Send(ctx, it.message)
		return err
	})
	s.logPanic("a channel panicked", err, slog.String("channel", it.Row.Channel))
	it.Row.settled(storage.Now(s.store), it.trigger.Schedule.Reminders, receipt, err)
}

// logPanic tells where a host's code panicked. The value of the panic is left out,
// since it may be personal.
func (s *Service) logPanic(text string, err error, where slog.Attr) {
	var p *work.PanicError
	if errors.As(err, &p) {
		s.options.Logger.Error("belfry: "+text, where, slog.String("stack", string(p.Stack)))
	}
}
