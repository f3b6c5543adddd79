package chaostest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

const (
	deliveries = 2000
	minKills   = 20
	// pastEverything is longer than a lease, a look-up's pause and every back-off.
	pastEverything = 70 * time.Minute
)

// arena is one run: a database, a provider, and processes that come and go.
type arena struct {
	t        *testing.T
	driver   Driver
	dsn      string
	provider *provider
	rnd      *rand.Rand
	offset   time.Duration
	kills    int
	released int

	deliveries, minKills int
	made                 int // of the deliveries
}

func newArena(t *testing.T, d Driver) *arena {
	return &arena{
		t: t, driver: d, dsn: d.DSN(t), provider: newProvider(t), rnd: random(t),
		deliveries: d.share(t, deliveries), minKills: d.share(t, minKills),
	}
}

// on opens the database in this process.
func (a *arena) on(do func(context.Context, *Host) error) {
	a.t.Helper()
	h, err := a.driver.open(a.t.Context(), a.dsn, a.offset)
	if err == nil {
		err = errors.Join(do(a.t.Context(), h), h.Close())
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// Workers has two thousand deliveries flow while workers are killed at random moments,
// twenty times. Each arrives once, since this provider can tell what it has accepted;
// and no claim makes two calls.
func Workers(t *testing.T, d Driver) {
	a := newArena(t, d)
	a.ensure(a.deliveries)
	for a.kills < a.minKills {
		a.flow()
		a.round("run", nil)
		a.offset += pastEverything
	}
	a.finish(fmt.Sprint(a.kills, " kills"))
}

// flow ensures twice as many deliveries where those that there are come to an end, so that
// a machine that delivers faster than it kills is given more to deliver.
func (a *arena) flow() {
	if len(a.provider.log()) > a.deliveries/2 {
		a.ensure(a.deliveries)
	}
}

// finish delivers the rest, and accounts for all of it.
func (a *arena) finish(after string) {
	flowing := len(a.provider.log())
	for range 20 {
		if a.settled() {
			break
		}
		a.release()
		a.drain()
		a.offset += pastEverything
	}
	a.t.Logf("%s: %s, %d calls before the last, %d in all, %d rows released by support",
		a.driver.Name, after, flowing, len(a.provider.log()), a.released)
	if flowing >= a.deliveries {
		a.t.Errorf("everything was delivered before the last of %s: they proved nothing", after)
	}
	a.check()
}

// random is seeded by BELFRY_SEED, or by the system and printed.
func random(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	if s := os.Getenv("BELFRY_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	t.Logf("BELFRY_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, seed))
}

// ensure makes n more deliveries due.
func (a *arena) ensure(n int) {
	a.on(func(ctx context.Context, h *Host) error {
		reminders, _ := services(h.Store, a.provider.URL)
		today := automation.Date{}
		today.Year, today.Month, today.Day = h.Store.Clock().Now().UTC().Date()
		var all []automation.Candidate
		for i := range n {
			i += a.made
			all = append(all, automation.Candidate{
				Type: "visit", Source: automation.Source{Type: "car", ID: fmt.Sprintf("car%04d", i)},
				TargetDate: today.AddDays(-1), DaysBefore: -1, SendAt: "00:00", Zone: "UTC", // the day after: it may be late
			})
		}
		done, err := reminders.Ensure(ctx, all...)
		if len(done) != n {
			a.t.Error(len(done), "were ensured")
		}
		a.made += n
		a.deliveries = a.made
		return err
	})
}

// round starts two workers of a role and kills each at a random moment. before, if there is
// one, is called before each kill, and what it returns behind it.
func (a *arena) round(role string, before func() (after func()), more ...string) {
	workers := []*exec.Cmd{a.start(role, more...), a.start(role, more...)}
	for _, w := range workers {
		a.wait()
		after := func() {}
		if before != nil {
			after = before()
		}
		if err := w.Process.Kill(); err != nil { // SIGKILL
			a.t.Fatal(err)
		}
		_ = w.Wait()
		after()
		a.kills++
	}
}

// cut has the provider leave calls without an answer for every other kill.
func (a *arena) cut() (after func()) {
	if a.rnd.IntN(2) != 0 {
		return func() {}
	}
	defer a.pause() // no more calls come than workers make at once
	return a.provider.mute()
}

// wait lets a random number of calls, or a random short time, pass; every other kill
// waits for calls, so that some are under way however slow the machine is.
func (a *arena) wait() {
	calls, long := a.rnd.IntN(90), time.Duration(20+a.rnd.IntN(400))*time.Millisecond
	if a.kills%2 == 1 {
		calls, long = 1+calls, 10*time.Second
	}
	limit := time.NewTimer(long)
	defer limit.Stop()
	for range calls {
		select {
		case <-a.provider.arrived:
		case <-limit.C:
			return
		}
	}
}

// pause lets a random short time pass.
func (a *arena) pause() {
	<-time.NewTimer(time.Duration(20+a.rnd.IntN(400)) * time.Millisecond).C
}

// start begins a worker process and waits until it polls. It is told more through
// its environment, where the last word counts.
func (a *arena) start(role string, more ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(),
		roleVariable+"="+role, driverVariable+"="+a.driver.Name, dsnVariable+"="+a.dsn,
		providerVariable+"="+a.provider.URL, offsetVariable+"="+a.offset.String())
	cmd.Env = append(cmd.Env, more...)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		a.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		a.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = cmd.Process.Kill() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		a.t.Fatalf("a worker said %q: %v", line, err)
	}
	return cmd
}

// drain lets a worker finish all that is due, unharmed.
func (a *arena) drain() {
	if err := a.start("drain").Wait(); err != nil {
		a.t.Fatal(err)
	}
}

// release is what support does: a row whose worker died four times over it waits
// on hold. What is in doubt or was cancelled stays so.
func (a *arena) release() {
	a.on(func(ctx context.Context, h *Host) error { return a.releaseOn(ctx, h.Store) })
}

func (a *arena) releaseOn(ctx context.Context, store storage.Store) error {
	by := automation.By{Actor: "test", Reason: "its workers were killed"}
	reminders, out := services(store, a.provider.URL)
	for table, release := range map[string]func(key string) error{
		"automation_scheduler": func(key string) error { return reminders.Support().Release(ctx, "", key, by) },
		"notification_scheduler": func(key string) error {
			return out.Support().Release(ctx, "", notify.ArtifactNotificationScheduler, key, by)
		},
		"outgoing_message": func(key string) error { return out.Support().Release(ctx, "", notify.ArtifactOutgoingMessage, key, by) },
		"notification_job": func(key string) error { return out.Support().Release(ctx, "", notify.ArtifactNotificationJob, key, by) },
		"messaging_job":    func(key string) error { return out.Support().Release(ctx, "", notify.ArtifactMessagingJob, key, by) },
	} {
		for key := range a.query("SELECT key, 1 FROM " + table + " WHERE is_on_support_hold AND status NOT IN ('OutcomeUnknown', 'Cancelled')") {
			if err := release(key); err != nil {
				return err
			}
			a.released++
		}
	}
	return nil
}

// query reads names and numbers.
func (a *arena) query(statement string) map[string]int {
	counts := map[string]int{}
	a.on(func(ctx context.Context, h *Host) error {
		rows, err := h.Rows(ctx, statement)
		for _, row := range rows {
			n, broken := strconv.Atoi(fmt.Sprint(row[1]))
			err = errors.Join(err, broken)
			counts[fmt.Sprint(row[0])] = n
		}
		return err
	})
	return counts
}

const byStatus = ` SELECT status, count(*) FROM %s GROUP BY status`

func (a *arena) settled() bool {
	return a.query(fmt.Sprintf(byStatus, "automation_scheduler"))[automation.StatusCompleted] == a.deliveries &&
		a.query(fmt.Sprintf(byStatus, "outgoing_message"))["SentToProvider"] == a.deliveries
}

// check compares the database with what the provider saw.
func (a *arena) check() {
	for table, want := range map[string]string{
		"automation_scheduler": "Completed", "notification_scheduler": "Dispatched",
		"notification_job": "Generated", "outgoing_message": "SentToProvider",
	} {
		if diff := cmp.Diff(map[string]int{want: a.deliveries}, a.query(fmt.Sprintf(byStatus, table))); diff != "" {
			a.t.Errorf("%s at rest: %s", table, diff)
		}
	}
	if a.t.Failed() {
		a.t.Logf("not sent: %v", a.query("SELECT status || ' ' || reason_code || ' ' || hold_reason || ' ' || resolution"+
			" || ' calls ' || calls || ' doubts ' || doubts || ' lookups ' || lookups || ' losses ' || lease_loss_count, count(*)"+
			" FROM outgoing_message WHERE status <> 'SentToProvider' GROUP BY 1"))
	}
	claims, people := map[string]int{}, map[string]int{}
	for _, c := range a.provider.log() {
		claims[c.ID+"/"+strconv.Itoa(c.Attempt)]++
		people[c.To]++
	}
	double, twice := 0, 0
	for _, n := range claims {
		if n > 1 {
			double++
		}
	}
	for _, n := range people {
		if n > 1 {
			twice++
		}
	}
	if lost := a.deliveries - len(people); lost != 0 || double != 0 || twice != 0 {
		a.t.Errorf("lost %d, double calls of one claim %d, people called twice %d", lost, double, twice)
	}
}
