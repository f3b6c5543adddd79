package contender

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"
)

// Clock is what benchmarks measure with: real, and the wall's, since moments of
// several processes on one machine are compared.
var Clock = clock.New()

// Work does what a task says. It prepares, calls Run.Go, and does what is
// measured; it returns when the rows are done or ctx ends.
type Work func(ctx context.Context, run *Run, t Task) (Result, error)

// Run is the connection of one Work to the process that compares.
type Run struct {
	orders  *bufio.Scanner
	done    atomic.Int64
	mu      sync.Mutex
	answers *json.Encoder
	stop    context.CancelFunc
}

// Serve reads one task from in, does it, and writes what becomes of it to out.
func Serve(in io.Reader, out io.Writer, works map[string]Work) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	run := &Run{orders: bufio.NewScanner(in), answers: json.NewEncoder(out), stop: cancel}
	result, err := run.serve(ctx, works)
	if err != nil {
		return run.send(message{Error: err.Error()})
	}
	if err := run.tell(); err != nil {
		return err
	}
	return run.send(message{Result: &result})
}

func (r *Run) serve(ctx context.Context, works map[string]Work) (Result, error) {
	if !r.orders.Scan() {
		return Result{}, fmt.Errorf("contender: no task: %w", r.orders.Err())
	}
	var t Task
	if err := json.Unmarshal(r.orders.Bytes(), &t); err != nil {
		return Result{}, fmt.Errorf("contender: task %q: %w", r.orders.Text(), err)
	}
	work := works[t.Work]
	if work == nil {
		return Result{}, unknown(t.Work)
	}
	if t.Profile == "" {
		return work(ctx, r, t)
	}
	return profiled(t.Profile, func() (Result, error) { return work(ctx, r, t) })
}

// Go says that everything is prepared, waits for the order, and returns the
// moment at which it came. From then on Done is reported, and the context of the
// work ends when it is told to stop.
func (r *Run) Go(ctx context.Context) (time.Time, error) {
	if err := r.send(message{Ready: true}); err != nil {
		return time.Time{}, err
	}
	if !r.orders.Scan() || r.orders.Text() != orderGo {
		return time.Time{}, fmt.Errorf("contender: %q instead of %q", r.orders.Text(), orderGo)
	}
	go func() {
		r.orders.Scan() // stop, or the end of the other process
		r.stop()
	}()
	go r.report(ctx)
	return Clock.Now(), nil
}

// Done counts rows that are done. Any goroutine may call it.
func (r *Run) Done(rows int) { r.done.Add(int64(rows)) }

// report tells every two milliseconds what is done since.
func (r *Run) report(ctx context.Context) {
	tick := Clock.Ticker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if r.tell() != nil {
				return
			}
		}
	}
}

func (r *Run) tell() error {
	n := r.done.Swap(0)
	if n == 0 {
		return nil
	}
	return r.send(message{Done: int(n)})
}

func (r *Run) send(m message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answers.Encode(m)
}

// Between is a Result for rows done from one moment to another.
func Between(rows int, began, ended time.Time) Result {
	return Result{Rows: rows, Began: began.UnixNano(), Ended: ended.UnixNano()}
}
