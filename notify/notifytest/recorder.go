package notifytest

import (
	"context"
	"errors"
	"sync"

	"github.com/belfry-go/belfry/notify"
)

var _ notify.Channel = (*Recorder)(nil)

// Recorder is a channel that keeps the messages it accepts. [NewRecorder],
// [Failing], [Scripted] and [Slow] make one. It is safe for several goroutines.
type Recorder struct {
	answer answer

	mu       sync.Mutex
	key      string
	repeats  bool // are allowed
	calls    int
	called   chan struct{} // closed and replaced by each call
	messages []notify.Message
	repeated []string // ids that were refused as repeats
}

// answer decides what becomes of a call, the first of which has the number 1.
type answer func(ctx context.Context, call int) error

func newRecorder(a answer) *Recorder {
	return &Recorder{key: "email:test", answer: a, called: make(chan struct{})}
}

// NewRecorder returns a channel with the key "email:test" that accepts every
// message.
func NewRecorder() *Recorder {
	return newRecorder(func(context.Context, int) error { return nil })
}

// As gives the channel another key, such as "sms:test", and returns the
// channel. It is for the time before the channel is used.
func (r *Recorder) As(key string) *Recorder {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.key = key
	return r
}

// AllowRepeats lets the channel accept a message id more than once, and returns
// the channel.
func (r *Recorder) AllowRepeats() *Recorder {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.repeats = true
	return r
}

// Key returns "email:test", or what As has set.
func (r *Recorder) Key() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.key
}

// Send accepts m and keeps a copy, or refuses it, each as the kind of the
// channel has it. The receipt is "receipt-" and the message id.
func (r *Recorder) Send(ctx context.Context, m notify.Message) (notify.Receipt, error) {
	err := r.answer(ctx, r.begin())
	var lost *acceptedThen
	if err != nil && !errors.As(err, &lost) {
		return notify.Receipt{}, err
	}
	if repeated := r.accept(m); repeated != nil {
		return notify.Receipt{}, repeated
	}
	if lost != nil {
		return notify.Receipt{}, lost.err
	}
	return receipt(m), nil
}
