package notify_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage/memory"
)

// items are those that messages have told of, each as often as it was told, by
// recipient, and how many were counted only.
func (h *host) items() (told map[string]int, counted int) {
	h.t.Helper()
	told = map[string]int{}
	rows := all(h, notify.Messages)
	for _, m := range rows {
		names, more, _ := strings.Cut(m.Content.Subject, " and ")
		for name := range strings.SplitSeq(names, ", ") {
			told[m.RecipientRef+" "+name]++
		}
		n := 0
		_, _ = fmt.Sscan(more, &n)
		counted += n
	}
	return told, counted
}

// checkDigests wants one message for each digest, and one digest for each recipient and
// window, which tell of every item once.
func (h *host) checkDigests(items int) {
	h.t.Helper()
	told, counted := h.items()
	for name, n := range told {
		if n != 1 {
			h.t.Errorf("%s was told %d times", name, n)
		}
	}
	windows := map[string]int{}
	for _, d := range h.digests() {
		windows[d.Recipients[0].Ref+" "+d.DigestOn.String()]++
		if d.Status != notify.StatusGenerated {
			h.t.Errorf("a digest is %s (%s, %s)", d.Status, d.ReasonCode, d.HoldReason)
		}
	}
	for name, n := range windows {
		if n != 1 {
			h.t.Errorf("%d digests of %s", n, name)
		}
	}
	if len(told)+counted != items || len(all(h, notify.Messages)) != len(windows) {
		h.t.Errorf("%d told and %d counted of %d, by %d messages of %d windows", len(told), counted, items, len(all(h, notify.Messages)), len(windows))
	}
}

// At each point at which a transaction can be lost, alone or with its process, the next
// run tells each recipient of each job once.
func TestADigestMayLoseEveryCommit(t *testing.T) {
	t.Parallel()
	for i, how := range []crash{{}, {after: true}, {dies: true}, {after: true, dies: true}} {
		t.Run(fmt.Sprintf("after_%v_dies_%v", how.after, how.dies), func(t *testing.T) {
			t.Parallel()
			step := 4
			for point := 1 + i; ; point += step {
				h := hostInMemory(t)
				h.news(nil)
				flaky := newFlaky(h.store, point, how)
				process := func() *host {
					n := notify.New(flaky.Spy, &notify.Options{Logger: quiet}, mortal{h.provider, flaky})
					p := &host{Notifier: n, store: flaky.Spy, t: t, clk: h.clk, provider: h.provider}
					p.Register(notify.Type{Name: "news", Digest: notify.Digest{Window: 24 * time.Hour, At: "08:00"}, Renderer: newsTemplate})
					return p
				}
				p := process()
				for round := range 40 { // of two hours
					flaky.armed = round < 15
					for _, what := range []string{"a", "b", "c"}[:min(round/3+1, 3)] {
						if _, err := p.Notify(t.Context(), item(what, person("sam"), person("kim"))); err != nil && !flaky.armed {
							t.Fatal(err)
						}
					}
					for _, pass := range p.Passes() {
						_, _ = pass.Runner(work.Options{Logger: quiet, Lease: time.Second}).Poll(t.Context(), 100)
					}
					if flaky.revive() {
						p = process()
					}
					h.clk.Add(2 * time.Hour)
				}
				h.checkDigests(6)
				if t.Failed() {
					t.Fatalf("point %d", point)
				}
				if flaky.seen < point {
					t.Logf("%d points", flaky.seen)
					break
				}
			}
		})
	}
}

// raceSize is how many events race, and for how many recipients.
func raceSize(h *host) (events, recipients int) {
	if _, ok := h.store.(*memory.Store); ok && !testlevel.Has(h.t, testlevel.Nightly) {
		return 2000, 40
	}
	if testlevel.Has(h.t, testlevel.Nightly) {
		return 100_000, 500
	}
	return 4000, 40
}

// Events race for digests in four workers, while windows end and others are made ready:
// each recipient gets one message for a window, and hears of each event once.
func TestRacingEventsMakeOneDigestForEachRecipientAndWindow(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		events, recipients := raceSize(h)
		start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		h.clk.Set(start)
		worker := func() *host {
			w := newHost(t, h.store, h.clk, h.provider, h.provider)
			w.Register(notify.Type{Name: "news", Digest: notify.Digest{Window: time.Hour}, Renderer: newsTemplate})
			return w
		}
		done := make(chan struct{})
		var workers, producers sync.WaitGroup
		for range 4 {
			workers.Go(func() {
				w := worker()
				var runners []work.Runner
				for _, p := range w.Passes() {
					runners = append(runners, p.Runner(work.Options{Logger: quiet, Lease: 1000 * time.Hour}))
				}
				for over := false; !over; {
					select {
					case <-done:
						over = true
					default:
					}
					for _, r := range runners {
						for {
							rep, err := r.Poll(t.Context(), 200)
							if err != nil {
								t.Error(err)
							}
							if err != nil || rep.Claimed == 0 {
								break
							}
						}
					}
				}
			})
		}
		const batch = 100
		for producer := range 2 {
			producers.Go(func() {
				for i := producer * batch; i < events; i += 2 * batch {
					var jobs []notify.Job
					var plan []notify.Schedule
					for k := i; k < min(i+batch, events); k++ {
						j := item(fmt.Sprintf("x%06d", k), person(fmt.Sprint("p", k*7%recipients)))
						jobs, plan = append(jobs, j), append(plan, notify.ScheduleFor(j, start))
					}
					if _, err := h.EnsureNotificationJob(t.Context(), nil, jobs...); err != nil {
						t.Error(err)
					}
					if _, err := h.EnsureNotificationScheduler(t.Context(), nil, plan...); err != nil {
						t.Error(err)
					}
					h.clk.Add(10 * time.Hour * batch / time.Duration(events)) // ten windows in all
				}
			})
		}
		producers.Wait()
		close(done)
		workers.Wait()
		w := worker()
		for range 3 {
			h.clk.Add(time.Hour)
			w.drain()
		}
		w.raceOver(events)
	})
}

// raceOver sees that nobody waits, and that all is told.
func (h *host) raceOver(events int) {
	h.t.Helper()
	h.checkDigests(events)
	byStatus := map[string]int{}
	for _, j := range all(h, notify.Jobs) {
		byStatus[j.Status]++
	}
	h.t.Logf("%d events, jobs %v, %d messages", events, byStatus, len(h.sent()))
	if byStatus[notify.StatusDigested] != events || byStatus[notify.StatusGenerated] != len(h.sent()) {
		h.t.Errorf("jobs at rest: %v, %d calls", byStatus, len(h.sent()))
	}
}
