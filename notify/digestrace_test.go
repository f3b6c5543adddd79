package notify_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
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
