package notifytest

import (
	"context"
	"sync"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
)

// Failing returns a channel that refuses every message with err; see
// [channel.Channel] for what an error means. It panics if err is nil.
func Failing(err error) *Recorder {
	if err == nil {
		panic("notifytest: Failing needs an error")
	}
	return newRecorder(func(context.Context, int) error { return err })
}

// Scripted returns a channel that answers its first call with the first error, the second
// with the second, and so on. A nil error accepts the message, and so does each call
// after the last error. [AcceptedThen] makes an error that accepts it, too.
func Scripted(errs ...error) *Recorder {
	return newRecorder(func(_ context.Context, call int) error {
		if call > len(errs) {
			return nil
		}
		return errs[call-1]
	})
}

// Slow returns a channel that holds each call until it receives a value from release, or
// release is closed, and then accepts the message. If the context of the call ends first,
// it returns the context's error, which leaves the outcome unknown.
func Slow(release <-chan struct{}) *Recorder {
	return newRecorder(func(ctx context.Context, _ int) error {
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// AcceptedThen is for [Failing] and [Scripted]: the message is accepted and
// recorded, and Send returns err nevertheless, as when the connection breaks
// before the provider's answer arrives. It panics if err is nil.
func AcceptedThen(err error) error {
	if err == nil {
		panic("notifytest: AcceptedThen needs an error")
	}
	return &acceptedThen{err}
}

type acceptedThen struct{ err error }

func (a *acceptedThen) Error() string { return "accepted, then " + a.err.Error() }

func (a *acceptedThen) Unwrap() error { return a.err }

var _ channel.StatusLookup = (*LookupRecorder)(nil)

// LookupRecorder is a Recorder that is also a [channel.StatusLookup]; it answers from its
// record. [Recorder.WithLookup] makes one.
type LookupRecorder struct {
	*Recorder

	mu      sync.Mutex
	answers []channel.LookupResult
	lookups int
}

// WithLookup returns the channel with a status lookup. Call it last, after As and
// AllowRepeats.
func (r *Recorder) WithLookup() *LookupRecorder { return &LookupRecorder{Recorder: r} }

// Answer sets the answers to the next lookups, in this order; later lookups use the
// record. The zero LookupResult means that the provider does not know yet. It returns the
// channel.
func (l *LookupRecorder) Answer(results ...channel.LookupResult) *LookupRecorder {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers = append(l.answers, results...)
	return l
}

// Lookups returns how often Lookup was called.
func (l *LookupRecorder) Lookups() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lookups
}

// Lookup says Accepted for a message that was recorded and Absent for others.
func (l *LookupRecorder) Lookup(ctx context.Context, m channel.Message) (channel.LookupResult, error) {
	if err := ctx.Err(); err != nil {
		return channel.LookupResult{}, err
	}
	if result, scripted := l.next(); scripted {
		return result, nil
	}
	l.Recorder.mu.Lock()
	defer l.Recorder.mu.Unlock()
	if l.has(m.ID) {
		return channel.LookupResult{Status: channel.LookupAccepted, Receipt: receipt(m)}, nil
	}
	return channel.LookupResult{Status: channel.LookupAbsent}, nil
}

// LookupWindow is zero: the record never expires.
func (l *LookupRecorder) LookupWindow() time.Duration { return 0 }

func (l *LookupRecorder) next() (result channel.LookupResult, scripted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookups++
	if len(l.answers) == 0 {
		return result, false
	}
	result, l.answers = l.answers[0], l.answers[1:]
	return result, true
}
