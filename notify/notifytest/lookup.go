package notifytest

import (
	"context"
	"sync"

	"github.com/belfry-go/belfry/notify"
)

var _ notify.StatusLookup = (*LookupRecorder)(nil)

// LookupRecorder is a Recorder that is a [notify.StatusLookup] too: it answers
// what it has recorded. [Recorder.WithLookup] makes one.
type LookupRecorder struct {
	*Recorder

	mu      sync.Mutex
	answers []notify.LookupResult
	lookups int
}

// WithLookup returns the channel as one that can be asked about its messages. It
// comes last, after As and AllowRepeats.
func (r *Recorder) WithLookup() *LookupRecorder { return &LookupRecorder{Recorder: r} }

// Answer makes these the answers to the next lookups, in this order and before
// the record is asked; the zero LookupResult says that the provider does not
// know yet. It returns the channel.
func (l *LookupRecorder) Answer(results ...notify.LookupResult) *LookupRecorder {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers = append(l.answers, results...)
	return l
}

// Lookups returns how often Lookup was called.
func (l *LookupRecorder) Lookups() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lookups
}

// Lookup says Accepted for a message that was recorded and Absent for others.
func (l *LookupRecorder) Lookup(ctx context.Context, m notify.Message) (notify.LookupResult, error) {
	if err := ctx.Err(); err != nil {
		return notify.LookupResult{}, err
	}
	if result, scripted := l.next(); scripted {
		return result, nil
	}
	l.Recorder.mu.Lock()
	defer l.Recorder.mu.Unlock()
	if l.has(m.ID) {
		return notify.LookupResult{Status: notify.LookupAccepted, Receipt: receipt(m)}, nil
	}
	return notify.LookupResult{Status: notify.LookupAbsent}, nil
}

func (l *LookupRecorder) next() (result notify.LookupResult, scripted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookups++
	if len(l.answers) == 0 {
		return result, false
	}
	result, l.answers = l.answers[0], l.answers[1:]
	return result, true
}
