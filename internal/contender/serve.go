// Package contender is how the comparison in bench talks to the processes that
// it compares: each contender is a process of its own, so that none inherits
// another's heap or caches. It gets a [Task] as one line of JSON, says when it is
// ready, works between go and stop, tells how many rows it has done, and answers
// with a [Result]. Only bench imports it.
package contender

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"
)

// Task is what a contender shall do.
type Task struct {
	// Work is the name of a Work that the contender serves: "fill", "drain".
	Work string `json:"work"`
	// Database is a PostgreSQL URL or the path of a SQLite file.
	Database string `json:"database"`
	// Rows is how many rows the work is about; From tells those of several
	// contenders apart.
	Rows int `json:"rows"`
	From int `json:"from"`
	// AtLeast says that more than Rows are there, and that it may do more.
	AtLeast bool `json:"at_least"`
	// Handlers is how many handler calls may run at once.
	Handlers int `json:"handlers"`
	// Synchronous is SQLite's setting, "FULL" or "NORMAL".
	Synchronous string `json:"synchronous"`
	// Tuned gives a peer on SQLite a cache of prepared statements, which its own
	// documentation does not ask for.
	Tuned bool `json:"tuned"`
	// Order is how the due moments of rows to fill lie: "" one after the other,
	// "random" anywhere; or "scattered", the order in which rows to ensure are named.
	Order string `json:"order"`
	// Lane of rows to fill; contenders without lanes ignore it.
	Lane int16 `json:"lane"`
	// Profile is a path prefix for a CPU and an allocation profile of the work;
	// empty: none.
	Profile string `json:"profile"`
}

// Result is what a contender measured of itself. Values are named; seconds and
// milliseconds say so in their names.
type Result struct {
	Rows   int                `json:"rows"`
	Began  int64              `json:"began"` // Unix nanoseconds
	Ended  int64              `json:"ended"`
	Values map[string]float64 `json:"values,omitempty"`
}

// Seconds is how long the work took.
func (r Result) Seconds() float64 { return float64(r.Ended-r.Began) / 1e9 }

// message is a line from a contender: one of its fields is set.
type message struct {
	Ready  bool    `json:"ready,omitempty"`
	Done   int     `json:"done,omitempty"` // rows since the last message
	Result *Result `json:"result,omitempty"`
	Error  string  `json:"error,omitempty"`
}

// The two orders that a contender gets after its task.
const (
	orderGo   = "go"
	orderStop = "stop"
)

func unknown(work string) error { return fmt.Errorf("contender: no work is named %q", work) }

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

// Quantile is the value that a share q of them does not exceed; 0 of none.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// Waits sums up how long rows waited, in milliseconds.
func Waits(ms []float64) map[string]float64 {
	return map[string]float64{"p50_ms": Quantile(ms, 0.5), "p99_ms": Quantile(ms, 0.99)}
}

// Paced calls f n times, 15 to 35 milliseconds apart, so that a worker has
// nothing to do between and cannot be in step.
func Paced(ctx context.Context, n int, f func(now time.Time) error) error {
	random := rand.New(rand.NewPCG(1, 1))
	for range n {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-Clock.After(15*time.Millisecond + time.Duration(random.Int64N(int64(20*time.Millisecond)))):
		}
		if err := f(Clock.Now()); err != nil {
			return err
		}
	}
	return nil
}

// profiled writes a CPU profile of work to prefix.cpu, and one of what it
// allocated to prefix.mem.
func profiled(prefix string, work func() (Result, error)) (result Result, err error) {
	cpu, err := os.Create(prefix + ".cpu")
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, cpu.Close()) }()
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return Result{}, err
	}
	result, err = work()
	pprof.StopCPUProfile()
	return result, errors.Join(err, writeAllocations(prefix+".mem"))
}

func writeAllocations(path string) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return pprof.Lookup("allocs").WriteTo(file, 0)
}
