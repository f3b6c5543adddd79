package sqlstore

import (
	"context"
	"errors"

	"github.com/belfry-go/belfry/storage"
)

// failure is an error of the database: what was under way, what it means to
// callers (nil: nothing in particular), and what the driver said.
type failure struct {
	op    string
	class Class
	means error
	cause error
}

func (f *failure) Error() string {
	if f.means != nil {
		return f.means.Error() + ": " + f.op + ": " + f.cause.Error()
	}
	return "storage: " + f.op + ": " + f.cause.Error()
}

func (f *failure) Unwrap() []error {
	if f.means != nil {
		return []error{f.means, f.cause}
	}
	return []error{f.cause}
}

// failed classifies an error. The end of ctx explains every other error, since
// drivers report it in many ways.
func (s *Store) failed(ctx context.Context, op string, err error) *failure {
	if f := (*failure)(nil); errors.As(err, &f) {
		return f
	}
	f := &failure{op: op, class: s.cfg.Classify(err), cause: err}
	switch f.class {
	case Busy, LockTimeout, Serialization:
		f.means = storage.ErrBusy
	case Connection:
		f.means = storage.ErrUnavailable
	}
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		f.means = cause
	}
	return f
}
