package work

import (
	"sync"
	"time"

	"github.com/benbjohnson/clock"
)

// Liveness says how one loop of Run is doing.
type Liveness struct {
	Pass string
	// Begun says that the loop runs. A Runner that rests has no Liveness.
	Begun bool
	// Turned is how long ago it came round, Polled how long ago the store answered a
	// poll of it, or it began.
	Turned, Polled time.Duration
	// Answered says that the store has answered a poll. Err is what the last one met.
	Answered bool
	Err      error
	// Stuck are the rows in hands that do not give them back, of Poll as well.
	Stuck []Stuck
}

// liveness is what a loop tells of itself, by a clock that no test stops.
type liveness struct {
	name  string
	clock clock.Clock

	mu             sync.Mutex
	begun          bool
	turned, polled time.Time
	answered       bool
	err            error
}

func newLiveness(name string) *liveness { return &liveness{name: name, clock: realClock} }

// turn notes that the loop comes round.
func (p *liveness) turn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turned = p.clock.Now()
	if !p.begun {
		p.polled = p.turned
	}
	p.begun = true
}

// poll notes what a poll met.
func (p *liveness) poll(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err = err; err == nil {
		p.answered, p.polled = true, p.clock.Now()
	}
}

func (p *liveness) now() Liveness {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := Liveness{Pass: p.name, Begun: p.begun, Answered: p.answered, Err: p.err}
	if p.begun {
		out.Turned, out.Polled = p.clock.Since(p.turned), p.clock.Since(p.polled)
	}
	return out
}

// Liveness is that of the loop of Run.
func (r *runner[R, A]) Liveness() []Liveness {
	out := r.liveness.now()
	out.Stuck = r.overdue.list(out.Pass)
	return []Liveness{out}
}

// Liveness is that of the preparation until it is done.
func (r *preparedRunner) Liveness() []Liveness {
	if r.ready.Load() {
		return r.inner.Liveness()
	}
	return []Liveness{r.liveness.now()}
}
