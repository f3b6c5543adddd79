package notify_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
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

// withoutBlobs counts the statements but for those that read the audience.
func withoutBlobs(calls *storetest.Calls) (n int) {
	for _, c := range calls.Take() {
		if c.Verb != storetest.Next && !strings.HasPrefix(c.Table, "blob") {
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
// a million with BELFRY_TEST=full, and never more than a few chunks are in memory.
func TestTheMemoryOfACampaignIsFlat(t *testing.T) {
	n := 100_000
	if testlevel.Has(t, testlevel.Full) {
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
	clk := clock.NewMock()
	clk.Set(storetest.Start)
	var sent atomic.Int64
	p := &provider{}
	h := newHost(t, storetest.SQLite(t, clk), clk, p)
	h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet, Concurrency: 500}, notify.ChannelFunc("email:count", func(context.Context, notify.Message) (notify.Receipt, error) {
		sent.Add(1)
		return notify.Receipt{}, nil
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
