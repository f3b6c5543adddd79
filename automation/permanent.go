package automation

import "errors"

// Permanent marks an error of a provider, policy or handler as one that no
// retry will mend: the row is Failed and on support hold at once. It returns nil
// for nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }

func (e *permanentError) Unwrap() error { return e.err }

func isPermanent(err error) bool {
	var p *permanentError
	return errors.As(err, &p)
}
