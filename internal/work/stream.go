package work

import (
	"context"
	"fmt"
	"sync"
)

// stream runs a streaming handler, passes on what it lands, and returns the rows
// that it has not landed, with the error that they fail with.
func (r *runner[R, A]) stream(ctx context.Context, items []Item[R], early func(settled[R, A])) (left []*R, err error) {
	var mu sync.Mutex
	open := make(map[*R]bool, len(items))
	for _, it := range items {
		open[it.Row] = true
	}
	take := func(row *R) bool {
		mu.Lock()
		defer mu.Unlock()
		ours := open[row]
		delete(open, row)
		return ours
	}
	err = Guard(func() error {
		return r.spec.Stream(ctx, items, func(row *R, result A) {
			if take(row) {
				early(settled[R, A]{row: row, result: result, dispatch: true})
			}
		})
	})
	for _, it := range items { // a goroutine of a handler that panicked may still be at it
		if take(it.Row) {
			left = append(left, it.Row)
		}
	}
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("work: the handler of %s left out %d of %d rows", r.spec.Name, len(left), len(items))
	}
	return left, err
}
