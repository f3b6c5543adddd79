package driver

import (
	"sync"
	"time"
)

// Waker passes hints about rows that became due from the transactions of a
// process to its pollers. It is a hint only: polling alone finds every row. The
// zero value is ready; methods may be called from any number of goroutines.
type Waker struct {
	mu      sync.Mutex
	signals map[*Signal]struct{}
}

// Signal is one listener of a Waker.
type Signal struct {
	table string
	w     *Waker
	c     chan struct{}
	first time.Time // guarded by w.mu
}

// Listen returns a signal for hints about a table. Close ends it.
func (w *Waker) Listen(table string) *Signal {
	s := &Signal{table: table, w: w, c: make(chan struct{}, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.signals == nil {
		w.signals = map[*Signal]struct{}{}
	}
	w.signals[s] = struct{}{}
	return s
}

// Wake tells that rows of table, the earliest due at due, were committed.
// Adapters call it after the commit.
func (w *Waker) Wake(table string, due time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for s := range w.signals {
		if s.table != table {
			continue
		}
		if s.first.IsZero() || due.Before(s.first) {
			s.first = due
		}
		select {
		case s.c <- struct{}{}:
		default:
		}
	}
}

// C receives after a hint; hints that nobody took are merged.
func (s *Signal) C() <-chan struct{} { return s.c }

// Take returns the earliest due moment hinted at since the last Take, and the
// zero time if there was none.
func (s *Signal) Take() time.Time {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	first := s.first
	s.first = time.Time{}
	return first
}

// Close ends the signal.
func (s *Signal) Close() {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	delete(s.w.signals, s)
}

// Hints collects what one transaction made due; adapters embed one in their Tx.
// The zero value is ready.
type Hints map[string]time.Time

// Add notes the rows of s that have a DueOn and are free: a row that is saved by
// its holder can be claimed by nobody.
func (h *Hints) Add(s *Schema, rows []Row) {
	for _, r := range rows {
		due := r.record().DueOn
		if due.IsZero() || !r.record().LeaseExpiresOn.IsZero() {
			continue
		}
		if *h == nil {
			*h = Hints{}
		}
		if first, ok := (*h)[s.Name]; !ok || due.Before(first) {
			(*h)[s.Name] = due
		}
	}
}

// Send wakes the listeners; call it after the commit.
func (h Hints) Send(w *Waker) {
	for table, due := range h {
		w.Wake(table, due)
	}
}
