package driver

import (
	"sync"
	"time"
)

// Loss says which commits a database has forgotten after it had acknowledged them: by a
// fail-over to a standby that was behind, a backup that was put back under running
// processes, or a second primary. The moments are of the store's clock.
type Loss struct {
	// From is when the first commit was made that is known to be gone, Until the last one.
	From, Until time.Time
	// NoticedOn is when a process found out; zero: nothing is known to be gone.
	NoticedOn time.Time
	// ReleasedOn is when a person said that the work goes on; zero: not yet.
	ReleasedOn time.Time
}

// Open says that there is a loss that is not released yet.
func (l Loss) Open() bool { return !l.NoticedOn.IsZero() && l.ReleasedOn.IsZero() }

// with is what is known when another process, or the same one later, has found more. What
// was committed before the known loss was noticed went with that one, and does not undo
// its release.
func (l Loss) with(found Loss) Loss {
	same := !found.Until.After(l.NoticedOn)
	if out := found; !same {
		if l.Open() && l.From.Before(found.From) {
			out.From = l.From
		}
		return out
	}
	if found.From.Before(l.From) {
		l.From = found.From
	}
	if found.Until.After(l.Until) {
		l.Until = found.Until
	}
	return l
}

// Losses are what an adapter found that its database has forgotten of what this process
// saw committed, until [Store.Identity] has stored it. The zero value is ready; methods
// may be called from any number of goroutines.
type Losses struct {
	mu    sync.Mutex
	last  Loss
	found Loss // of which nothing is stored yet
	news  chan struct{}
}

// Note takes in a loss that an adapter has found.
func (l *Losses) Note(found Loss) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.found = found, l.found.with(found)
	if l.news != nil {
		close(l.news)
		l.news = nil
	}
}

// Last is the last that was noted; the zero Loss if nothing ever was.
func (l *Losses) Last() Loss {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// Found is what is not stored yet; the zero Loss if there is nothing.
func (l *Losses) Found() Loss {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.found
}

// News is closed when something is noted.
func (l *Losses) News() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.news == nil {
		l.news = make(chan struct{})
	}
	return l.news
}

// stored forgets what was found, unless more was noted since.
func (l *Losses) stored(found Loss) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.found == found {
		l.found = Loss{}
	}
}
