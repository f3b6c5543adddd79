package work

import (
	"sync"
	"time"

	"github.com/benbjohnson/clock"
)

// Pulse says how one loop of Run is doing.
type Pulse struct {
	Pass string
	// Begun says that the loop runs. A Runner that rests has no Pulse.
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

// pulse is what a loop tells of itself, by a clock that no test stops.
type pulse struct {
	name  string
	clock clock.Clock

	mu             sync.Mutex
	begun          bool
	turned, polled time.Time
	answered       bool
	err            error
}

func newPulse(name string) *pulse { return &pulse{name: name, clock: realClock} }

// turn notes that the loop comes round.
func (p *pulse) turn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turned = p.clock.Now()
	if !p.begun {
		p.polled = p.turned
	}
	p.begun = true
}

// poll notes what a poll met.
func (p *pulse) poll(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err = err; err == nil {
		p.answered, p.polled = true, p.clock.Now()
	}
}

func (p *pulse) now() Pulse {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := Pulse{Pass: p.name, Begun: p.begun, Answered: p.answered, Err: p.err}
	if p.begun {
		out.Turned, out.Polled = p.clock.Since(p.turned), p.clock.Since(p.polled)
	}
	return out
}

// Pulse is that of the loop of Run.
func (r *runner[R, A]) Pulse() []Pulse {
	out := r.pulse.now()
	out.Stuck = r.overdue.list(out.Pass)
	return []Pulse{out}
}

// Pulse is that of the preparation until it is done.
func (r *preparedRunner) Pulse() []Pulse {
	if r.ready.Load() {
		return r.inner.Pulse()
	}
	return []Pulse{r.pulse.now()}
}
