package sqlstore

import (
	"context"
	"slices"
	"sync"

	"github.com/belfry-go/belfry/storage/driver"
)

// turns are as many as a pool has connections, and are given in the order of asking:
// database/sql serves anybody who waits, so that of ten who keep asking one may wait for
// seconds. Whoever is patient ([driver.Patient]) goes behind the others, but for each
// eighth turn.
type turns struct {
	mu    sync.Mutex
	free  int
	lines [2][]chan struct{} // of those who wait: the others, and who is patient
	ahead int                // turns in a row that were given while somebody patient waited
}

// patience is how many others go ahead of whoever is patient.
const patience = 7

// take waits for a turn.
func (q *turns) take(ctx context.Context) error {
	line := 0
	if driver.IsPatient(ctx) {
		line = 1
	}
	q.mu.Lock()
	if q.free > 0 {
		q.free--
		q.mu.Unlock()
		return nil
	}
	given := make(chan struct{})
	q.lines[line] = append(q.lines[line], given)
	q.mu.Unlock()
	select {
	case <-given:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	i := slices.Index(q.lines[line], given)
	if i >= 0 {
		q.lines[line] = slices.Delete(q.lines[line], i, i+1)
	}
	q.mu.Unlock()
	if i < 0 { // it was given meanwhile
		q.give()
	}
	return ctx.Err()
}

// give passes a turn on.
func (q *turns) give() {
	q.mu.Lock()
	defer q.mu.Unlock()
	line := 0
	switch hurried, patient := len(q.lines[0]) > 0, len(q.lines[1]) > 0; {
	case !hurried && !patient:
		q.free++
		return
	case patient && (!hurried || q.ahead >= patience):
		line, q.ahead = 1, 0
	case patient:
		q.ahead++
	}
	close(q.lines[line][0])
	q.lines[line] = slices.Delete(q.lines[line], 0, 1)
}
