package notify_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Claim, settle, ensure and the cursor: the same for ten recipients and for five
// hundred, in the first chunk and in the last.
func TestAChunkTakesAConstantNumberOfStatements(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		for _, size := range []int{10, 500} {
			guid := fmt.Sprint("spring", size)
			h.plan(guid, h.audience(crowd(3*size)...))
			h.run("notify.scheduler")
			mine := h.Notifier
			store, calls := storetest.Counting(h.store)
			h.Notifier = notify.New(store, &notify.Options{Logger: quiet}, h.provider)
			h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
			h.SetChunk(size)
			h.run("notify.generator") // checks the hash key, once in a process
			for range 3 {
				calls.Take()
				h.run("notify.campaign")
				// Claim, settle, messages (with a look for them first, as other tests have
				// left the table), cursor.
				if took := withoutBlobs(calls); took < 4 || took > 5 {
					t.Errorf("%d statements for %d recipients", took, size)
				}
			}
			h.Notifier = mine
			if j := h.campaign(guid); j.Status != notify.StatusGenerated {
				t.Errorf("campaign is %s", j.Status)
			}
		}
	})
}

// withoutBlobs counts the statements but for those that read the audience, and whether
// anybody was erased lately, which is known for a while.
func withoutBlobs(calls *storetest.Calls) (n int) {
	for _, c := range calls.Take() {
		if c.Verb != storetest.Next && c.Table != "erasure" && !strings.HasPrefix(c.Table, "blob") {
			n++
		}
	}
	return n
}

// manyPeople are made as they are read.
func manyPeople(n int) notify.Audience {
	return notify.AudienceOf(func(yield func(notify.Recipient, error) bool) {
		for i := range n {
			ref := fmt.Sprintf("p%07d", i)
			if !yield(notify.Recipient{Ref: ref, Channel: "email:count", Address: ref + "@example.com", Name: ref}, nil) {
				return
			}
		}
	})
}

// Not parallel: it measures the whole process. A hundred thousand recipients pass,
// a million with BELFRY_TEST=nightly, and never more than a few chunks are in memory.
func TestTheMemoryOfACampaignIsFlat(t *testing.T) {
	n := 100_000
	if testlevel.Has(t, testlevel.Nightly) {
		n = 1_000_000
	}
	most := campaignOf(t, n)
	t.Logf("%d recipients: %d MB more than at the start at most", n, most>>20)
	if most > 32<<20 { // the promise is 100 MB
		t.Errorf("%d MB more than at the start", most>>20)
	}
}

// BenchmarkCampaign makes and sends a campaign of a million recipients.
func BenchmarkCampaign(b *testing.B) {
	const n = 1_000_000
	var most uint64
	for range b.N {
		most = max(most, campaignOf(b, n))
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "recipients/s")
	b.ReportMetric(float64(most>>20), "MB")
}

// campaignOf makes and sends a campaign of n recipients on SQLite, and returns how
// much more memory was in use than at its start at most.
func campaignOf(t testing.TB, n int) uint64 {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // whatever GOGC says
	clk := clock.NewMock()
	clk.Set(storetest.Start)
	var sent atomic.Int64
	p := &provider{}
	h := newHost(t, storetest.SQLite(t, clk), clk, p)
	h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet, Concurrency: 500}, channel.Func("email:count", func(context.Context, channel.Message) (channel.Receipt, error) {
		sent.Add(1)
		return channel.Receipt{}, nil
	}))
	h.Register(notify.Type{Name: "visit", Renderer: notify.Template{Subject: "spring", Text: "Dear {{.Recipient.Name}}"}})
	heap := newHeap()
	payload, err := h.Campaigns().PutAudience(t.Context(), manyPeople(n), nil)
	if err != nil {
		t.Fatal(err)
	}
	heap.look()
	h.plan("spring", payload)
	var runners []work.Runner
	for _, p := range h.Passes() {
		runners = append(runners, p.Runner(workOptions))
	}
	for claimed := 1; claimed > 0; {
		claimed = 0
		for _, r := range runners {
			rep, err := r.Poll(t.Context(), 1000)
			if err != nil {
				t.Fatal(err)
			}
			claimed += rep.Claimed
		}
		heap.look()
		clk.Add(time.Second)
	}
	if int(sent.Load()) != n {
		t.Errorf("%d sent", sent.Load())
	}
	return heap.most
}

// heap is how much more memory was in use than at the start, garbage included.
type heap struct{ first, most uint64 }

func newHeap() *heap {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return &heap{first: m.HeapAlloc}
}

func (h *heap) look() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > h.first {
		h.most = max(h.most, m.HeapAlloc-h.first)
	}
}

// At each point where a transaction of a campaign can be lost, or only the reply
// to its commit, the next run goes on, and every recipient gets one message.
func TestACampaignMayLoseAnyCommit(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		for point := range 24 {
			guid := fmt.Sprint("spring", point)
			h.begin(guid, crowd(7)...)
			flaky := newFlaky(h.store, point/2, crash{after: point%2 == 1})
			flaky.armed = true
			mine, before := h.Notifier, len(h.sent())
			h.Notifier = notify.New(flaky.Spy, &notify.Options{Logger: quiet}, h.provider)
			h.Register(notify.Type{Name: "visit", Renderer: visitTemplate, InDoubt: notify.Resend})
			h.SetChunk(3)
			for range 6 {
				for _, p := range h.Passes() {
					_, _ = p.Runner(work.Options{Logger: quiet, Lease: time.Second}).Poll(t.Context(), 10)
				}
				h.clk.Add(2 * time.Hour)
			}
			flaky.armed = false
			h.drain()
			h.Notifier = mine
			j := h.campaign(guid)
			if j.Status != notify.StatusGenerated || j.Generated != 7 || j.Repeated != 0 || len(h.sent())-before != 7 {
				t.Errorf("point %d: campaign is %s, %d made, %d twice, %d calls", point, j.Status, j.Generated, j.Repeated, len(h.sent())-before)
			}
		}
	})
}

// killed is a worker that claims the campaign and dies.
func (h *host) killed(guid string) {
	h.t.Helper()
	now := driver.Now(h.store)
	h.inOne(func(tx storage.Tx) error {
		rows, err := notify.MessagingJobs.Claim(h.t.Context(), tx, driver.Claim{
			Statuses: []string{notify.StatusReady}, Busy: notify.StatusGenerating, Now: now, LeaseUntil: now.Add(lease), Token: "dead",
			Lanes: []driver.LaneClaim{{Lane: storage.LaneNormal, Limit: 10}},
		})
		if err == nil && (len(rows) != 1 || rows[0].GUID != guid) {
			err = fmt.Errorf("claimed %d", len(rows))
		}
		return err
	})
}

func TestAKilledChunkIsMadeAgainAfterItsLease(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.begin("spring", crowd(7)...)
		h.run("notify.campaign")
		h.killed("spring")
		h.drain()
		if j := h.campaign("spring"); j.Status != notify.StatusGenerating || j.Done != 3 {
			t.Fatalf("campaign is %s after %d", j.Status, j.Done)
		}
		h.clk.Add(lease + time.Second)
		h.drain()
		j := h.campaign("spring")
		if j.Status != notify.StatusReady || j.ReasonCode != reasons.LeaseLost || j.LeaseLossCount != 1 {
			t.Fatalf("campaign is %+v", j)
		}
		h.clk.Set(j.DueOn)
		h.drain()
		if j := h.campaign("spring"); j.Status != notify.StatusGenerated || j.Generated != 7 || j.Repeated != 0 || len(h.sent()) != 7 {
			t.Errorf("campaign is %+v, %d calls", j, len(h.sent()))
		}
	})
}

// The store refuses the messages of a chunk: its cursor stays in front of them.
func TestACursorDoesNotMoveWithoutItsMessages(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.begin("spring", crowd(7)...)
		h.run("notify.campaign")
		mine := h.Notifier
		refusing := &storetest.Spy{Store: h.store, Hook: func(c storetest.Call) error {
			if c.Verb == storetest.Insert && c.Table == notify.Messages.Name {
				return errors.New("disk full")
			}
			return nil
		}}
		h.Notifier = notify.New(refusing, &notify.Options{Logger: quiet}, h.provider)
		h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		h.SetChunk(3)
		h.run("notify.campaign")
		h.Notifier = mine
		j := h.campaign("spring")
		if j.Status != notify.StatusReady || j.Done != 3 || j.RetryCount != 1 || j.ReasonCode != reasons.PassFailed {
			t.Fatalf("campaign is %+v", j)
		}
		h.clk.Set(j.DueOn)
		h.drain()
		if n := len(h.sent()); n != 7 {
			t.Errorf("%d calls", n)
		}
	})
}

// Two processes have the same chunk, since the first was taken for dead: only one
// of them moves the cursor, and counts.
func TestTheCursorIsFenced(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		taken := false
		h.Register(notify.Type{Name: "slow", Renderer: notify.RendererFunc(func(context.Context, notify.Job, notify.Recipient) (notify.Content, error) {
			if !taken { // another process takes over, makes the chunk and goes on
				taken = true
				h.clk.Add(2 * time.Minute)
				h.run("notify.campaign")
				h.clk.Set(h.campaign("spring").DueOn)
				h.run("notify.campaign")
			}
			return notify.Content{Text: "hello"}, nil
		})})
		h.begin("spring", crowd(9)...)
		h.retype("slow")
		h.run("notify.campaign")
		if j := h.campaign("spring"); j.Done != 3 || j.Generated != 3 || j.Status != notify.StatusReady {
			t.Fatalf("campaign is %+v", j)
		}
		h.drain()
		if j := h.campaign("spring"); j.Generated != 9 || j.Done != 9 || j.Repeated != 0 || len(h.sent()) != 9 {
			t.Errorf("campaign is %+v, %d calls", j, len(h.sent()))
		}
	})
}

func TestOneWhoCannotBeRenderedStopsNobodyElse(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.moody("p001", "p004")
		h.begin("spring", crowd(6)...)
		h.retype("moody")
		h.drain()
		h.same("messages", map[string]string{
			"p000": "SentToProvider", "p001": "Skipped RenderFailed", "p002": "SentToProvider",
			"p003": "SentToProvider", "p004": "Skipped RenderFailed", "p005": "SentToProvider",
		}, h.outcomes())
		if j := h.campaign("spring"); j.Status != notify.StatusGenerated || j.Skipped != 2 || j.Generated != 4 {
			t.Errorf("campaign is %+v", j)
		}
	})
}

// moody registers a type whose renderer fails for some.
func (h *host) moody(refs ...string) (mend func()) {
	broken := refs
	h.Register(notify.Type{Name: "moody", Renderer: notify.RendererFunc(func(_ context.Context, _ notify.Job, r notify.Recipient) (notify.Content, error) {
		if slices.Contains(broken, r.Ref) {
			panic("secret text")
		}
		return notify.Content{Text: "at last"}, nil
	})})
	return func() { broken = nil }
}

// retype gives the single campaign another type.
func (h *host) retype(name string) {
	edit(h, notify.MessagingJobs, func(j *notify.MessagingJobRow) { j.Kind = name })
}

func TestAChunkOfWhichNobodyCanBeRenderedIsTriedAgainThenHeld(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		mend := h.moody("p003", "p004", "p005")
		h.begin("spring", crowd(9)...)
		h.retype("moody")
		h.drain()
		for i := range 4 {
			j := h.campaign("spring")
			if j.RetryCount != i+1 || j.Done != 3 || j.ReasonCode != reasons.RenderFailed || len(h.sent()) != 3 {
				t.Fatalf("after failure %d: %+v", i+1, j)
			}
			if i < 3 {
				h.clk.Set(j.DueOn)
				h.drain()
			}
		}
		h.same("hold", driver.SupportHold{IsOnSupportHold: true, HoldReason: reasons.RetriesExhausted}, h.campaign("spring").SupportHold)
		mend()
		if err := h.Support().Release(t.Context(), "tenant", notify.ArtifactMessagingJob, "spring", sam); err != nil {
			t.Fatal(err)
		}
		h.drain()
		if j := h.campaign("spring"); j.Status != notify.StatusGenerated || len(h.sent()) != 9 || j.RetryCount != 0 {
			t.Errorf("campaign is %+v, %d calls", j, len(h.sent()))
		}
	})
}

// A template that makes what no channel may send would do so for everybody.
func TestAChunkOfForbiddenContentIsHeldAtOnce(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.Register(notify.Type{Name: "forged", Renderer: notify.RendererFunc(func(context.Context, notify.Job, notify.Recipient) (notify.Content, error) {
			return notify.Content{Subject: "hello\r\nBcc: everybody@example.com"}, nil
		})})
		h.begin("spring", crowd(4)...)
		h.retype("forged")
		h.drain()
		j := h.campaign("spring")
		h.same("hold", driver.SupportHold{IsOnSupportHold: true, HoldReason: reasons.Refused}, j.SupportHold)
		if j.Status != notify.StatusFailed || j.Done != 0 || len(all(h, notify.Messages)) != 0 {
			t.Errorf("campaign is %+v", j)
		}
	})
}
