// Command ha plays fail-overs on a real cluster: Patroni, etcd, HAProxy and PgBouncer from
// Debian's packages, on loopback, started and stopped by itself. Three programs send through
// it, by the list of its hosts, through HAProxy, and through PgBouncer. It prints the table
// of docs/deploying.md. `make drill-ha` runs it; it takes about half an hour.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/benbjohnson/clock"
)

// wall is what is measured by.
var wall = clock.New()

func main() {
	rounds := flag.Int("rounds", 3, "how often each fault is played in a series")
	only := flag.String("only", "", "play only the faults of these `names`, with commas between")
	synchronous := flag.Bool("synchronous", false, "play only the series with synchronous replication")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := play(ctx, *rounds, *only, *synchronous); err != nil {
		fmt.Fprintln(os.Stderr, "drill-ha:", err)
		os.Exit(1)
	}
}

// fault is what happens to a cluster. It returns when the cluster has what it needs to
// recover, and calls begun when sending may stop.
type fault struct {
	name string
	play func(ctx context.Context, c *cluster, begun func()) error
	// front: the primary goes on, and sending goes on soon after play.
	front bool
	// alone: only in the series without synchronous replication.
	alone bool
}

const (
	shortFreeze = 5 * time.Second  // shorter than Patroni's ttl
	longFreeze  = 40 * time.Second // longer, so that another primary is there
)

var faults = []fault{
	{name: "switchover", play: func(ctx context.Context, c *cluster, begun func()) error {
		begun()
		return c.primary(ctx).switchover(ctx)
	}},
	{name: "primary killed", play: kill},
	{name: "primary killed, standbys behind", alone: true, play: killAhead},
	{name: "primary frozen 5 s", play: freeze(shortFreeze, (*cluster).freezePrimary)},
	{name: "primary frozen 40 s", play: freeze(longFreeze, (*cluster).freezePrimary)},
	{name: "HAProxy frozen 5 s", front: true, play: freeze(shortFreeze, func(c *cluster, _ *node) func(syscall.Signal) { return c.haproxy.signal })},
	{name: "etcd frozen 40 s", front: true, play: freeze(longFreeze, func(c *cluster, _ *node) func(syscall.Signal) { return c.etcd.signal })},
}

// kill ends a node as a power cut does, and starts it again when another one has taken
// over.
func kill(ctx context.Context, c *cluster, begun func()) error {
	old := c.primary(ctx)
	begun()
	old.signal(syscall.SIGKILL)
	return c.replaced(ctx, old)
}

// killAhead has the standbys miss what is committed in the second before the primary dies.
func killAhead(ctx context.Context, c *cluster, begun func()) error {
	old := c.primary(ctx)
	for _, pid := range old.all() {
		title, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended
		if strings.Contains(string(title), "walsender") {
			_ = syscall.Kill(pid, syscall.SIGSTOP)
		}
	}
	pass(ctx, time.Second)
	begun()
	old.signal(syscall.SIGKILL)
	return c.replaced(ctx, old)
}

func (c *cluster) replaced(ctx context.Context, old *node) error {
	err := c.await(ctx, "another primary", func() bool { p := c.primary(ctx); return p != nil && p != old })
	if err != nil {
		return err
	}
	<-old.patroni.done
	return c.begin(old)
}

func (*cluster) freezePrimary(old *node) func(syscall.Signal) { return old.signal }

// freeze stops something for a time. The rest of a cluster does not know that it will be
// back.
func freeze(takes time.Duration, what func(*cluster, *node) func(syscall.Signal)) func(context.Context, *cluster, func()) error {
	return func(ctx context.Context, c *cluster, begun func()) error {
		signal := what(c, c.primary(ctx))
		begun()
		signal(syscall.SIGSTOP)
		pass(ctx, takes)
		signal(syscall.SIGCONT)
		return nil
	}
}

// pass lets time pass.
func pass(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-wall.After(d):
	}
}

// play plays the series and prints their table.
func play(ctx context.Context, rounds int, only string, synchronous bool) error {
	if packages := missing(); len(packages) > 0 {
		return fmt.Errorf("needs Debian's packages %s: apt-get install %[1]s (scripts/setup-test.sh ha does it where it may)", strings.Join(packages, " "))
	}
	names := strings.FieldsFunc(only, func(r rune) bool { return r == ',' })
	whole, err := series(ctx, true, rounds, names)
	if err == nil && !synchronous {
		var ok bool
		ok, err = series(ctx, false, rounds, names)
		whole = whole && ok
	}
	if err != nil {
		return err
	}
	if !whole {
		return errors.New("a series fell short of its bounds")
	}
	return nil
}

// series plays the faults on a cluster, and prints what they did.
func series(ctx context.Context, synchronous bool, rounds int, only []string) (ok bool, err error) {
	c, err := start(ctx, synchronous)
	if err != nil {
		return false, err
	}
	defer func() {
		err = errors.Join(err, c.stop())
		if ok && err == nil {
			err = os.Remove(c.log.Name())
		} else {
			fmt.Println("log of the cluster:", c.log.Name())
		}
	}()
	senders, err := c.senders(ctx)
	if err != nil {
		return false, err
	}
	defer func() {
		for _, s := range senders {
			err = errors.Join(err, s.close())
		}
	}()
	probe := newProbe(ctx, c)
	defer probe.stop()
	fmt.Printf("\nsynchronous replication: %t\n| fault | by | no primary, s: p50 | max | until sending goes on, s: p50 | max | of it after the fault, s: max | errors of the host |\n|---|---|---|---|---|---|---|---|\n", synchronous)
	ok = true
	for _, f := range faults {
		if f.alone && synchronous || len(only) > 0 && !slices.Contains(only, f.name) {
			continue
		}
		fits, err := c.playFault(ctx, f, rounds, synchronous, senders, probe)
		if err != nil {
			return false, fmt.Errorf("%s: %w", f.name, err)
		}
		ok = ok && fits
	}
	for _, s := range senders {
		total, err := s.settle(ctx)
		if err != nil {
			return false, err
		}
		fmt.Printf("%s: %s\n", s.name, total)
		ok = ok && (!synchronous || total.lost+total.doubled+total.tries == 0 && !total.alarm)
	}
	lost, err := probe.lost(ctx, senders[0].store.DB())
	if err != nil {
		return false, err
	}
	fmt.Printf("written without Belfry: %d rows, %d lost\n", len(probe.kept), lost)
	return ok && (!synchronous || lost == 0), nil
}

// playFault plays one fault some times, and prints a line for each way.
func (c *cluster) playFault(ctx context.Context, f fault, rounds int, synchronous bool, senders []*sender, probe *probe) (ok bool, err error) {
	away, waits, behind := []time.Duration{}, map[*sender][]time.Duration{}, map[*sender]time.Duration{}
	for range rounds {
		if err := c.await(ctx, "a healthy cluster", func() bool { return c.healthy(ctx, synchronous) }); err != nil {
			return false, err
		}
		pass(ctx, 3*time.Second)
		var began time.Time
		if err := f.play(ctx, c, func() { began = wall.Now() }); err != nil {
			return false, err
		}
		over := wall.Now()
		if err := c.await(ctx, "a healthy cluster", func() bool { return c.healthy(ctx, synchronous) }); err != nil {
			return false, err
		}
		pass(ctx, 3*time.Second)
		from, to := probe.written.gap(began, wall.Now())
		away = append(away, to.Sub(from))
		if f.front {
			to = over
		}
		for _, s := range senders {
			from, on := s.sent.gap(began, wall.Now())
			waits[s] = append(waits[s], on.Sub(from))
			if from.Before(to) {
				from = to
			}
			behind[s] = max(behind[s], on.Sub(from))
		}
	}
	ok = true
	for _, s := range senders {
		fmt.Printf("| %s | %s | %s | %s | %s | %s | %s | %s |\n", f.name, s.name, seconds(median(away)), seconds(slices.Max(away)),
			seconds(median(waits[s])), seconds(slices.Max(waits[s])), seconds(behind[s]), s.errors())
		ok = ok && behind[s] <= 2*time.Second
	}
	return ok, nil
}

func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()) }
