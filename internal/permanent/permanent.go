// Package permanent marks errors that a retry cannot fix. Every domain offers hosts its
// own Permanent; code that decides about a retry calls Is.
package permanent

import "errors"

// Mark returns err marked as permanent, and nil for nil.
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
