package automation

import "sync"

// spare keeps the memory of slices from one call to the next, of what is as large
// as a row: plans made a third of the garbage of a thousand known candidates, tries
// a fifth of that of due rows.
type spare[T any] struct{ pool sync.Pool }

var (
	sparePlans spare[plan]
	spareTries spare[try]
)

// few values are not worth keeping; most calls that plan have none.
const few = 16

// take gives n zero values.
func (s *spare[T]) take(n int) []T {
	if n < few {
		return make([]T, n)
	}
	if p, ok := s.pool.Get().(*[]T); ok && cap(*p) >= n {
		return (*p)[:n]
	}
	return make([]T, n)
}

// giveBack takes back what nothing points to any more.
func (s *spare[T]) giveBack(v []T) {
	if cap(v) < few {
		return
	}
	clear(v)
	s.pool.Put(&v)
}
