package driver

import (
	"slices"
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

// Hint names rows that may be claimed: of a table, in a status. An empty status is any,
// which is what a process of an older version tells.
type Hint struct{ Table, Status string }

// Signal is one listener of a Waker.
type Signal struct {
	table    string
	statuses []string // none: all
	w        *Waker
	c        chan struct{}
	first    time.Time // guarded by w.mu
}

// Listen returns a signal for hints about rows of a table in one of the statuses; none:
// in any. Close ends it.
func (w *Waker) Listen(table string, statuses ...string) *Signal {
	s := &Signal{table: table, statuses: statuses, w: w, c: make(chan struct{}, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.signals == nil {
		w.signals = map[*Signal]struct{}{}
	}
	w.signals[s] = struct{}{}
	return s
}

func (s *Signal) hears(h Hint) bool {
	return s.table == h.Table && (len(s.statuses) == 0 || h.Status == "" || slices.Contains(s.statuses, h.Status))
}

// Wake tells that such rows, the earliest due at due, were committed. Adapters call it
// after the commit.
func (w *Waker) Wake(h Hint, due time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for s := range w.signals {
		if !s.hears(h) {
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

// C receives after a hint; hints that were not received are merged.
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
type Hints map[Hint]time.Time

// Add notes the rows of s that have a DueOn and are free: a row that is saved by
// its holder cannot be claimed.
func (h *Hints) Add(s *Schema, rows []Row) {
	for _, r := range rows {
		d := r.due()
		if d == nil || d.DueOn.IsZero() || !d.LeaseExpiresOn.IsZero() {
			continue
		}
		h.note(Hint{s.Name, d.Status}, d.DueOn)
	}
}

// Merge adds what others have collected.
func (h *Hints) Merge(others Hints) {
	for hint, due := range others {
		h.note(hint, due)
	}
}

func (h *Hints) note(of Hint, due time.Time) {
	if *h == nil {
		*h = Hints{}
	}
	if first, ok := (*h)[of]; !ok || due.Before(first) {
		(*h)[of] = due
	}
}

// Send wakes the listeners; call it after the commit.
func (h Hints) Send(w *Waker) {
	for hint, due := range h {
		w.Wake(hint, due)
	}
}
