// Package calls makes the channel calls of notify and survey for claimed rows: it takes a
// slot, commits that the call starts, makes the call within its timeout, and stores the
// row as soon as the call has ended. The domain decides what is sent and the row's next
// state.
package calls

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-go/belfry/internal/loglimit"
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
	Bar work.StartCheck[R]
	// Release gives a row back that was not handled, since the process stops.
	Release func(row *R, now time.Time)
	// Gather makes the calls of items: those that go by one call have the same bounds. Nil:
	// each has a call of its own.
	Gather func(items []T) [][]T
	// Call is one call, and settles the row of each of its items.
	Call func(items []T)
	// Land passes a row on that has its next state.
	Land func(item T)
}

// Send lands every item, or returns an error that those fail with which it has not
// landed: their calls did not start. It returns when all calls have ended.
func (s Sender[R, T]) Send(ctx context.Context, items []T) error {
	var under sync.WaitGroup
	defer under.Wait()
	for left := s.gather(items); len(left) > 0; {
		var taken [][]T
		if taken, left = takeSome(ctx, s.Slots, left, s.bounds); len(taken) == 0 {
			now := driver.Now(s.Store)
			s.each(slices.Concat(left...), func(it T) { s.Release(s.Item(it).Row, now) })
			return nil
		}
		if taken = s.prepare(taken); len(taken) == 0 {
			continue
		}
		started, lost, err := s.start(ctx, taken)
		for _, it := range lost {
			s.done(it)
		}
		for _, call := range started {
			under.Go(func() {
				s.Call(call)
				for _, it := range call {
					s.done(it)
				}
				s.give(call)
			})
		}
		if err != nil {
			return err
		}
		s.each(lost, func(T) {})
	}
	return nil
}

func (s Sender[R, T]) gather(items []T) [][]T {
	if s.Gather != nil {
		return s.Gather(items)
	}
	return slices.Collect(slices.Chunk(items, 1))
}

// bounds are those of a call: each of its items has them.
func (s Sender[R, T]) bounds(call []T) []Bound { return s.Bounds(call[0]) }

// give lands the rows of a call that has ended. The slot is free when the last result is
// stored, so that a killed process leaves no more unknown outcomes than a channel makes
// calls at once. If another item waits for the slot the result is stored at once.
func (s Sender[R, T]) give(call []T) {
	bounds := s.bounds(call)
	var open atomic.Int64
	open.Store(int64(len(call)))
	stored := func() {
		if open.Add(-1) == 0 {
			s.Slots.Give(bounds)
		}
	}
	var soon func()
	for _, it := range call {
		item := s.Item(it)
		if item.Flush == nil || len(bounds) == 0 {
			s.Land(it)
			stored()
			continue
		}
		soon = item.Flush
		context.AfterFunc(item.Ctx, stored)
		s.Land(it)
	}
	if soon != nil && s.Slots.awaited(bounds) {
		soon()
	}
}

// prepare lands what is not ready.
func (s Sender[R, T]) prepare(calls [][]T) (ready [][]T) {
	if s.Ready == nil {
		return calls
	}
	for _, call := range calls {
		var some []T
		for _, it := range call {
			if s.Ready(it) {
				some = append(some, it)
				continue
			}
			s.done(it)
			s.Land(it)
		}
		ready = s.unlessEmpty(ready, call, some)
	}
	return ready
}

// unlessEmpty adds what is left of a call, or gives its slot back.
func (s Sender[R, T]) unlessEmpty(calls [][]T, call, left []T) [][]T {
	if len(left) == 0 {
		s.Slots.Give(s.bounds(call))
		return calls
	}
	return append(calls, left)
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

// start commits, in one write fenced by the versions, that the calls are about to begin.
// After a crash only these rows are in doubt. It returns the calls whose rows are still
// ours, and the other rows, which were written since their claim.
func (s Sender[R, T]) start(ctx context.Context, calls [][]T) (started [][]T, lost []T, err error) {
	now := driver.Now(s.Store)
	var rows []*R
	for _, it := range slices.Concat(calls...) {
		row := s.Item(it).Row
		s.Begin(row, now)
		rows = append(rows, row)
	}
	ours, err := work.StartIf(ctx, s.Store, s.Table, now.Add(s.Item(calls[0][0]).Lease), rows, s.Bar)
	i := 0
	for _, call := range calls {
		var some []T
		for _, it := range call {
			if err != nil || !ours[i] || s.Item(it).Ctx.Err() != nil {
				s.Undo(rows[i], now)
				lost = append(lost, it)
			} else {
				some = append(some, it)
			}
			i++
		}
		started = s.unlessEmpty(started, call, some)
	}
	return started, lost, err
}

// Together is a context for one call about items with these contexts, which ends when all
// of theirs have ended.
func Together(all []context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(all[0]))
	var open atomic.Int64
	open.Store(int64(len(all)))
	var stops []func() bool
	for _, one := range all {
		stops = append(stops, context.AfterFunc(one, func() {
			if open.Add(-1) == 0 {
				cancel()
			}
		}))
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
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

// LogPanic logs where a host's code panicked, if err is a panic. The panic's value is
// left out, since it may be personal.
func LogPanic(log *slog.Logger, text string, err error, where slog.Attr) {
	var p *work.PanicError
	if errors.As(err, &p) {
		log.ErrorContext(loglimit.Panics(context.Background()), "belfry: "+text, where, slog.String("stack", string(p.Stack)))
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
		return nil, answersError(fmt.Sprintf("%d answers to %d questions", len(answers), len(questions)))
	}
	for i, a := range answers {
		if !known(a) {
			return nil, answersError(fmt.Sprintf("answer %d is not a valid answer", i+1))
		}
	}
	return answers, nil
}

// Gate asks a gate about attempts that are about to go out. After an error nothing may.
func Gate[Q, A any](ctx context.Context, log *slog.Logger, gate any, attempts []Q, ask func(context.Context, []Q) ([]A, error), known func(A) bool) ([]A, error) {
	answers, err := AskGate(ctx, log, gate, attempts, ask, known)
	if err != nil && ctx.Err() == nil {
		log.ErrorContext(ctx, "belfry: a gate failed, so its messages wait", slog.String("gate", Name(gate)), slog.Int("messages", len(attempts)), slog.String("cause", cause(err)))
	}
	return answers, err
}

// causes are errors whose texts hold nothing of a host's.
var causes = []error{
	context.DeadlineExceeded, context.Canceled, storage.ErrUnavailable, storage.ErrBusy, storage.ErrNotFound, storage.ErrOutcomeUnknown,
}

// cause is what a log may have of an error of a host's code, whose text may be personal: a
// text of ours, or else the type of what it wraps.
func cause(err error) string {
	for _, known := range causes {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	var ours answersError
	if errors.As(err, &ours) {
		return ours.Error()
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return fmt.Sprintf("%T", err)
}

// answersError says what is wrong with answers.
type answersError string

func (e answersError) Error() string { return string(e) }

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
