package notifytest

import "context"

// Failing returns a channel that refuses every message with err; see
// [notify.Channel] for what an error means. It panics if err is nil.
func Failing(err error) *Recorder {
	if err == nil {
		panic("notifytest: Failing needs an error")
	}
	return newRecorder(func(context.Context, int) error { return err })
}

// Scripted returns a channel that answers its first call with the first error,
// the second with the second, and so on; nil accepts the message, and so does
// the end of the script. [AcceptedThen] makes an error that accepts it too.
func Scripted(errs ...error) *Recorder {
	return newRecorder(func(_ context.Context, call int) error {
		if call > len(errs) {
			return nil
		}
		return errs[call-1]
	})
}

// Slow returns a channel that holds each call until it receives a value from
// release, or release is closed, and then accepts the message. If the context
// of the call ends first, it refuses the message with the context's error,
// which leaves the message in doubt.
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
