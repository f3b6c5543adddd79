// Package calls is how notify and survey hand claimed rows to their channels: a slot
// for the call, a committed note that it starts, the call within its time, and the
// row landed as soon as it has ended. What is sent, and what becomes of the row, is the
// domain's to say.
package calls

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/hush"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Sender makes the calls for claimed rows of one table. R is the row, T what a domain
// takes along with it.
type Sender[R, T any] struct {
	Store storage.Store
	Table *driver.Table[R]
	Slots *Slots
	// Item is the claim of an item.
	Item func(T) work.Item[R]
	// Bounds are those of the channel of an item; none: no bound. They do not change
	// while the item is sent.
	Bounds func(T) []Bound
	// Ready prepares an item that has its slots, or settles it and says no; Done is the
	// end of that. Nil: there is nothing to prepare.
	Ready func(T) bool
	Done  func(T)
	// Begin notes in a row that its call starts, Undo takes that back: it was not made.
	Begin, Undo func(row *R, now time.Time)
	// Bar says, in the transaction of that note, which calls do not begin after all; their
	// rows are released. Nil: all do.
	Bar work.Bar[R]
	// Release gives a row back whose turn never came, since the process stops.
	Release func(row *R, now time.Time)
	// Call is the one call of a claim, for one item today, and settles the row of each.
	Call func(items []T)
	// Land passes a row on that has its next state.
	Land func(item T)
}

// Send lands every item, or returns an error that those fail with which it has not
// landed: their calls did not start. It returns when all calls have ended.
func (s Sender[R, T]) Send(ctx context.Context, items []T) error {
	var under sync.WaitGroup
	defer under.Wait()
	for left := items; len(left) > 0; {
		var taken []T
		if taken, left = takeSome(ctx, s.Slots, left, s.Bounds); len(taken) == 0 {
			now := driver.Now(s.Store)
			s.each(left, func(it T) { s.Release(s.Item(it).Row, now) })
			return nil
		}
		if taken = s.prepare(taken); len(taken) == 0 {
			continue
		}
		started, lost, err := s.start(ctx, taken)
		for _, it := range lost {
			s.done(it)
			s.Slots.Give(s.Bounds(it))
		}
		for _, it := range started {
			under.Go(func() {
				s.Call([]T{it})
				s.done(it)
				s.give(it)
			})
		}
		if err != nil {
			return err
		}
		s.each(lost, func(T) {})
	}
	return nil
}

// give lands a row whose call has ended. The slot is free when the result is stored, so
// that a process that is killed leaves no more calls in doubt than a channel makes at
// once; where somebody waits for it, that is at once.
func (s Sender[R, T]) give(it T) {
	bounds, item := s.Bounds(it), s.Item(it)
	if item.Soon == nil || len(bounds) == 0 {
		s.Land(it)
		s.Slots.Give(bounds)
		return
	}
	context.AfterFunc(item.Ctx, func() { s.Slots.Give(bounds) })
	s.Land(it)
	if s.Slots.awaited(bounds) {
		item.Soon()
	}
}

// prepare lands what is not ready.
func (s Sender[R, T]) prepare(items []T) (ready []T) {
	if s.Ready == nil {
		return items
	}
	for _, it := range items {
		if s.Ready(it) {
			ready = append(ready, it)
			continue
		}
		s.done(it)
		s.Slots.Give(s.Bounds(it))
		s.Land(it)
	}
	return ready
}

func (s Sender[R, T]) done(it T) {
	if s.Done != nil {
		s.Done(it)
	}
}

func (s Sender[R, T]) each(items []T, settle func(T)) {
	for _, it := range items {
		settle(it)
		s.Land(it)
	}
}

// start commits, in one write fenced by the versions, that the calls are about to
// begin. After a crash only these rows are in doubt. It returns those that are still
// ours, and the others, which somebody has written since their claim.
//
//spec:f-020 f-050 n-047
func (s Sender[R, T]) start(ctx context.Context, items []T) (started, lost []T, err error) {
	now := driver.Now(s.Store)
	rows := make([]*R, len(items))
	for i, it := range items {
		rows[i] = s.Item(it).Row
		s.Begin(rows[i], now)
	}
	ours, err := work.StartIf(ctx, s.Store, s.Table, now.Add(s.Item(items[0]).Lease), rows, s.Bar)
	for i, it := range items {
		if err != nil || !ours[i] || s.Item(it).Ctx.Err() != nil {
			s.Undo(rows[i], now)
			lost = append(lost, it)
			continue
		}
		started = append(started, it)
	}
	return started, lost, err
}

// Do calls a host's code, within timeout in real time; a panic is an error, and logged
// under text.
func Do(ctx context.Context, timeout time.Duration, log *slog.Logger, text string, where slog.Attr, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := work.Guard(func() error { return f(ctx) })
	LogPanic(log, text, err, where)
	return err
}

// LogPanic tells where a host's code panicked, if err is that. The value of the panic
// is left out, since it may be personal.
func LogPanic(log *slog.Logger, text string, err error, where slog.Attr) {
	var p *work.PanicError
	if errors.As(err, &p) {
		hush.Panic(context.Background(), log, "belfry: "+text, where, slog.String("stack", string(p.Stack)))
	}
}

// Answers asks a host's code about several things at once. Anything but one answer that
// means something for each is an error, which is not logged: it may hold personal data.
func Answers[Q, A any](questions []Q, ask func([]Q) ([]A, error), known func(A) bool) (answers []A, err error) {
	err = work.Guard(func() (err error) {
		answers, err = ask(questions)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(answers) != len(questions) {
		return nil, fmt.Errorf("%d answers to %d questions", len(answers), len(questions))
	}
	for i, a := range answers {
		if !known(a) {
			return nil, fmt.Errorf("answer %d means nothing", i+1)
		}
	}
	return answers, nil
}

// Gate asks a gate about attempts that are about to go out. After an error nothing may.
func Gate[Q, A any](ctx context.Context, log *slog.Logger, gate any, attempts []Q, ask func(context.Context, []Q) ([]A, error), known func(A) bool) ([]A, error) {
	answers, err := AskGate(ctx, log, gate, attempts, ask, known)
	if err != nil && ctx.Err() == nil {
		hush.Error(ctx, log, "belfry: a gate failed, and lets nothing through", slog.String("gate", Name(gate)), slog.Int("messages", len(attempts)))
	}
	return answers, err
}

// AskGate asks a gate about attempts.
func AskGate[Q, A any](ctx context.Context, log *slog.Logger, gate any, attempts []Q, ask func(context.Context, []Q) ([]A, error), known func(A) bool) ([]A, error) {
	answers, err := Answers(attempts, func(a []Q) ([]A, error) { return ask(ctx, a) }, known)
	LogPanic(log, "a gate panicked", err, slog.String("gate", Name(gate)))
	return answers, err
}

// Name is what a person may know a gate by.
func Name(gate any) string {
	if named, ok := gate.(interface{ Name() string }); ok {
		return named.Name()
	}
	return fmt.Sprintf("%T", gate)
}
