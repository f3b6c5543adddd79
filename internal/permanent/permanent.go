// Package permanent marks errors that no retry will mend. Every domain gives hosts
// its own Permanent; whoever decides about a retry asks Is, whichever made it.
package permanent

import "errors"

// Mark returns err as one that no retry will mend, and nil for nil.
func Mark(err error) error {
	if err == nil {
		return nil
	}
	return &marked{err}
}

// Is reports whether something in the chain of err says that it is permanent.
func Is(err error) bool {
	var p interface{ Permanent() bool }
	return errors.As(err, &p) && p.Permanent()
}

type marked struct{ error }

func (*marked) Permanent() bool { return true }

func (m *marked) Unwrap() error { return m.error }
