package automation

import "sync"

// planPool keeps the memory of plans from one Ensure to the next. A plan is as
// large as a row, and made a third of the garbage of a thousand known candidates.
var planPool sync.Pool

// newPlans gives n plans to fill in.
func newPlans(n int) []plan {
	if p, ok := planPool.Get().(*[]plan); ok && cap(*p) >= n {
		return (*p)[:n]
	}
	return make([]plan, n)
}

// recycle takes plans back to which nothing points any more.
func recycle(p []plan) {
	clear(p)
	planPool.Put(&p)
}
