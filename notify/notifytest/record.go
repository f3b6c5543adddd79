package notifytest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/belfry-go/belfry/notify"
)

// ErrRepeated is the cause of the Permanent error with which a message is
// refused whose id was accepted before.
var ErrRepeated = errors.New("notifytest: the message was accepted before")

// Messages returns the accepted messages, the oldest first.
func (r *Recorder) Messages() []notify.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.messages)
}

// Calls returns how often Send was called, refused and unfinished calls
// included.
func (r *Recorder) Calls() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

// Wait returns when Send has been called n times, finished or not, or with an
// error when ctx ends.
func (r *Recorder) Wait(ctx context.Context, n int) error {
	for {
		r.mu.Lock()
		calls, called := r.calls, r.called
		r.mu.Unlock()
		if calls >= n {
			return nil
		}
		select {
		case <-called:
		case <-ctx.Done():
			return fmt.Errorf("notifytest: Send was called %d times, not %d: %w", calls, n, ctx.Err())
		}
	}
}

func (r *Recorder) begin() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	close(r.called)
	r.called = make(chan struct{})
	return r.calls
}

func (r *Recorder) accept(m notify.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.repeats && r.has(m.ID) {
		r.repeated = append(r.repeated, m.ID)
		return notify.Permanent("repeated", ErrRepeated)
	}
	m.Metadata, m.Template.Params = maps.Clone(m.Metadata), slices.Clone(m.Template.Params)
	m.Attachments = slices.Clone(m.Attachments)
	r.messages = append(r.messages, m)
	return nil
}

// has tells whether a message of that id was accepted. The caller holds mu.
func (r *Recorder) has(id string) bool {
	return slices.ContainsFunc(r.messages, func(m notify.Message) bool { return m.ID == id })
}

func receipt(m notify.Message) notify.Receipt { return notify.Receipt{ID: "receipt-" + m.ID} }
