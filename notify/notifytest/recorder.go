package notifytest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/belfry-go/belfry/notify/channel"
)

var _ channel.Channel = (*Recorder)(nil)

// Recorder is a channel that keeps the messages it accepts. [NewRecorder], [Failing],
// [Scripted] and [Slow] make one. It is safe for concurrent use.
type Recorder struct {
	answer answer

	mu       sync.Mutex
	key      string
	repeats  bool // are allowed
	calls    int
	called   chan struct{} // closed and replaced by each call
	messages []channel.Message
	repeated []string // ids that were refused as repeats
}

// answer decides the result of a call; calls are numbered from 1.
type answer func(ctx context.Context, call int) error

func newRecorder(a answer) *Recorder {
	return &Recorder{key: "email:test", answer: a, called: make(chan struct{})}
}

// NewRecorder returns a channel with the key "email:test" that accepts every
// message.
func NewRecorder() *Recorder {
	return newRecorder(func(context.Context, int) error { return nil })
}

// As gives the channel another key, such as "sms:test", and returns the channel. Call it
// before the channel is used.
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

// Send accepts m and keeps a copy, or refuses it, depending on the kind of channel. The
// receipt is "receipt-" and the message id.
func (r *Recorder) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	err := r.answer(ctx, r.begin())
	var lost *acceptedThen
	if err != nil && !errors.As(err, &lost) {
		return channel.Receipt{}, err
	}
	if repeated := r.accept(m); repeated != nil {
		return channel.Receipt{}, repeated
	}
	if lost != nil {
		return channel.Receipt{}, lost.err
	}
	return receipt(m), nil
}

// ErrRepeated is the cause of the Permanent error for a message whose id was already
// accepted.
var ErrRepeated = errors.New("notifytest: a message with this id was already accepted")

// Messages returns the accepted messages, the oldest first.
func (r *Recorder) Messages() []channel.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.messages)
}

// Calls returns how often Send was called, including refused and unfinished calls.
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
			return fmt.Errorf("notifytest: Send was called %d times, want %d: %w", calls, n, ctx.Err())
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

func (r *Recorder) accept(m channel.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.repeats && r.has(m.ID) {
		r.repeated = append(r.repeated, m.ID)
		return channel.Permanent("repeated", ErrRepeated)
	}
	m.Metadata, m.Template.Params = maps.Clone(m.Metadata), slices.Clone(m.Template.Params)
	m.Attachments = slices.Clone(m.Attachments)
	r.messages = append(r.messages, m)
	return nil
}

// has reports whether a message with that id was accepted. The caller holds mu.
func (r *Recorder) has(id string) bool {
	return slices.ContainsFunc(r.messages, func(m channel.Message) bool { return m.ID == id })
}

func receipt(m channel.Message) channel.Receipt { return channel.Receipt{ID: "receipt-" + m.ID} }

// TB is what the assertions need of a [testing.TB].
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Sent fails the test unless exactly n messages were accepted and none of them was sent
// again.
func (r *Recorder) Sent(t TB, n int) {
	t.Helper()
	r.noRepeats(t)
	if all := r.Messages(); len(all) != n {
		t.Errorf("%s sent %d messages, want %d%s", r.Key(), len(all), n, list(all))
	}
}

// To returns the message to that address, and ends the test unless there is
// exactly one.
func (r *Recorder) To(t TB, address string) channel.Message {
	t.Helper()
	r.noRepeats(t)
	var found []channel.Message
	all := r.Messages()
	for _, m := range all {
		if m.To == address {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s sent %d messages to %s, want 1%s", r.Key(), len(found), address, list(all))
		return channel.Message{} // a TB of the caller's own may go on
	}
	return found[0]
}

// Attachment returns the attachment of m with that file name, and ends the test
// unless there is exactly one.
func Attachment(t TB, m channel.Message, name string) channel.Attachment {
	t.Helper()
	var found []channel.Attachment
	for _, a := range m.Attachments {
		if a.Name == name {
			found = append(found, a)
		}
	}
	if len(found) != 1 {
		t.Fatalf("message %s has %d attachments %q, want 1; it has%s", m.ID, len(found), name, cmp.Or(attached(m), " none"))
		return channel.Attachment{} // a TB of the caller's own may go on
	}
	return found[0]
}

func (r *Recorder) noRepeats(t TB) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range r.repeated {
		t.Errorf("%s was given message %s again after it had sent it", r.key, id)
	}
}

// list names the messages, a line each.
func list(all []channel.Message) string {
	var b strings.Builder
	for _, m := range all {
		fmt.Fprintf(&b, "\n\t%s: %q (message %s, attempt %d)%s", m.To, m.Subject, m.ID, m.Attempt, attached(m))
	}
	return b.String()
}

// attached names the attachments, if there are any.
func attached(m channel.Message) string {
	var b strings.Builder
	for _, a := range m.Attachments {
		fmt.Fprintf(&b, " +%q (%s, %d bytes", a.Name, a.MediaType, len(a.Data))
		if a.ContentID != "" {
			b.WriteString(", inline as " + a.ContentID)
		}
		b.WriteString(")")
	}
	return b.String()
}
