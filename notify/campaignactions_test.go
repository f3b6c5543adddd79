package notify_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

func TestAPausedCampaignMakesNothingUntilItIsResumed(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.begin("spring", crowd(9)...)
		h.run("notify.campaign")
		if err := h.Campaigns().Pause(t.Context(), "tenant", "spring", sam); err != nil {
			t.Fatal(err)
		}
		h.drain()
		if j := h.campaign("spring"); j.Status != notify.StatusPaused || j.Done != 3 || len(h.sent()) != 3 {
			t.Fatalf("campaign is %s after %d, %d calls", j.Status, j.Done, len(h.sent()))
		}
		if err := h.Campaigns().Resume(t.Context(), "tenant", "spring", sam); err != nil {
			t.Fatal(err)
		}
		h.drain()
		if j := h.campaign("spring"); j.Status != notify.StatusGenerated || j.Repeated != 0 || len(h.sent()) != 9 {
			t.Errorf("campaign is %+v, %d calls", j, len(h.sent()))
		}
		var story []string
		h.inOne(func(tx storage.Tx) error {
			entries, err := audit.History(t.Context(), tx, "tenant", notify.MessagingJobs.Name, "spring", 10)
			for _, e := range entries {
				story = append(story, e.Action+" "+e.From+" "+e.To+" by "+e.Actor)
			}
			return err
		})
		h.same("audit", []string{"PauseCampaign Ready Paused by sam", "ResumeCampaign Paused Ready by sam"}, story)
	})
}

// inTheMiddle runs act while the second chunk of nine recipients is rendered.
func inTheMiddle(h *host, act func()) {
	h.t.Helper()
	rendered := 0
	h.Register(notify.Type{Name: "slow", Renderer: notify.RendererFunc(func(context.Context, notify.Job, notify.Recipient) (notify.Content, error) {
		if rendered++; rendered == 5 {
			act()
		}
		return notify.Content{Text: "hello"}, nil
	})})
	h.begin("spring", crowd(9)...)
	h.retype("slow")
	h.run("notify.campaign")
	h.run("notify.campaign")
}

func TestAPauseInTheMiddleOfAChunkDropsTheChunk(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		inTheMiddle(h, func() {
			if err := h.Campaigns().Pause(t.Context(), "tenant", "spring", sam); err != nil {
				t.Error(err)
			}
		})
		if j := h.campaign("spring"); j.Status != notify.StatusPaused || j.Done != 3 || len(all(h, notify.Messages)) != 3 {
			t.Fatalf("campaign is %+v", j)
		}
		if err := h.Campaigns().Resume(t.Context(), "tenant", "spring", sam); err != nil {
			t.Fatal(err)
		}
		h.drain()
		if j := h.campaign("spring"); j.Status != notify.StatusGenerated || j.LeaseLossCount != 0 || len(h.sent()) != 9 {
			t.Errorf("campaign is %+v, %d calls", j, len(h.sent()))
		}
	})
}

// The worker that had the campaign when it was paused is dead by the time it is
// resumed: that is not a failure.
func TestAResumedCampaignDoesNotCountALeaseThatWasLeft(t *testing.T) {
	for name, wait := range map[string]time.Duration{"after the lease": time.Hour, "before its end": time.Second} {
		t.Run(name, func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				h.begin("spring", crowd(4)...)
				h.killed("spring")
				if err := h.Campaigns().Pause(t.Context(), "tenant", "spring", sam); err != nil {
					t.Fatal(err)
				}
				h.clk.Add(wait)
				if err := h.Campaigns().Resume(t.Context(), "tenant", "spring", sam); err != nil {
					t.Fatal(err)
				}
				h.clk.Add(lease)
				h.drain()
				if j := h.campaign("spring"); j.Status != notify.StatusGenerated || j.RetryCount != 0 || len(h.sent()) != 4 {
					t.Errorf("campaign is %+v, %d calls", j, len(h.sent()))
				}
			})
		})
	}
}

func TestACancelledCampaignMakesNothingMoreAndSendsNothingMore(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		inTheMiddle(h, func() {
			h.run("notify.distributor")
			if err := h.Campaigns().Cancel(t.Context(), "tenant", "spring", sam); err != nil {
				t.Error(err)
			}
		})
		h.drain()
		if j := h.campaign("spring"); j.Status != notify.StatusCancelled || j.Done != 3 || !j.DueOn.IsZero() || j.Cancelled != 0 || len(h.sent()) != 3 {
			t.Errorf("campaign is %+v, %d calls", j, len(h.sent()))
		}
		err := h.Campaigns().Resume(t.Context(), "tenant", "spring", sam)
		if !errors.Is(err, notify.ErrActionRefused) {
			t.Errorf("resumed: %v", err)
		}
	})
}

// All messages are made; some are out, one is with the provider, the rest wait.
func TestWhatACancelledCampaignHasNotSentIsCancelledPageByPage(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.begin("spring", crowd(30)...)
		for range 10 {
			h.run("notify.campaign")
		}
		busy := h.claim([]string{notify.StatusCreated}, notify.StatusSending) // none: they are in the bulk lane
		if len(busy) != 0 {
			t.Fatal("claimed")
		}
		h.inOne(func(tx storage.Tx) error {
			rows, err := notify.Messages.Find(t.Context(), tx, "tenant", driver.Query{OrderBy: "key", Limit: 3})
			if err != nil {
				return err
			}
			rows[0].Status, rows[0].DueOn = notify.StatusSentToProvider, time.Time{}
			rows[1].Status, rows[1].LeaseExpiresOn = notify.StatusSending, h.clk.Now().Add(lease)
			rows[2].Status = notify.StatusRetryReady
			return notify.Messages.Save(t.Context(), tx, rows...)
		})
		if err := h.Campaigns().Cancel(t.Context(), "tenant", "spring", sam); err != nil {
			t.Fatal(err)
		}
		h.inOne(func(tx storage.Tx) error { // a page of ten in each transaction
			j, err := notify.MessagingJobs.Get(t.Context(), tx, "tenant", "spring")
			if err == nil {
				err = h.CancelMessages(t.Context(), tx, j, 10)
			}
			return err
		})
		if j := h.campaign("spring"); j.Cancelled != 8 || j.CancelledUpTo == "" || j.InFlight != 1 {
			t.Fatalf("campaign is %+v", j)
		}
		h.run("notify.cancel")
		if j := h.campaign("spring"); j.Cancelled != 28 || !j.DueOn.Equal(h.clk.Now().Add(time.Minute)) {
			t.Fatalf("campaign is %+v", j)
		}
		h.clk.Add(2 * time.Minute) // the worker died before its call: the message is given back
		h.run("notify.distributor")
		h.run("notify.cancel")
		h.drain()
		if j := h.campaign("spring"); j.Cancelled != 29 || !j.DueOn.IsZero() || j.Status != notify.StatusCancelled || len(h.sent()) != 0 {
			t.Errorf("campaign is %+v, %d calls", j, len(h.sent()))
		}
		p, err := h.Campaigns().Progress(t.Context(), "tenant", "spring")
		if err != nil {
			t.Fatal(err)
		}
		h.same("messages", map[string]int{notify.StatusCancelled: 29, notify.StatusSentToProvider: 1}, p.Messages)
		for _, m := range all(h, notify.Messages) {
			if m.Status == notify.StatusCancelled && (m.ReasonCode != reasons.CampaignCancelled || !m.DueOn.IsZero() || m.EndedOn.IsZero()) {
				t.Errorf("message is %+v", m)
			}
		}
	})
}

func TestACampaignIsPausedBeforeItsScheduleIsDue(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		due := h.clk.Now().Add(24 * time.Hour)
		p := h.audience(crowd(2)...)
		for _, guid := range []string{"resumed before", "resumed after", "cancelled"} {
			job := notify.MessagingJob{Scope: "tenant", Type: "visit", GUID: guid, Blob: p.Blob}
			if _, err := h.EnsureMessagingJob(t.Context(), nil, job); err != nil {
				t.Fatal(err)
			}
			if _, err := h.EnsureNotificationScheduler(t.Context(), nil, notify.ScheduleForCampaign(job, due)); err != nil {
				t.Fatal(err)
			}
			if err := h.Campaigns().Pause(t.Context(), "tenant", guid, sam); err != nil {
				t.Fatal(err)
			}
		}
		do := func(act func(context.Context, notify.Scope, string, notify.By) error, guid string) {
			if err := act(t.Context(), "tenant", guid, sam); err != nil {
				t.Error(err)
			}
		}
		do(h.Campaigns().Resume, "resumed before")
		do(h.Campaigns().Cancel, "cancelled")
		h.drain()
		if n := len(h.sent()); n != 0 {
			t.Errorf("%d calls before it is due", n)
		}
		h.clk.Set(due)
		h.drain()
		if a, b, n := h.campaign("resumed before"), h.campaign("resumed after"), len(h.sent()); a.Status != notify.StatusGenerated || b.Status != notify.StatusPaused || n != 2 {
			t.Errorf("they are %s and %s, %d calls", a.Status, b.Status, n)
		}
		do(h.Campaigns().Resume, "resumed after")
		h.drain()
		if a, n := h.campaign("resumed after"), len(h.sent()); a.Status != notify.StatusGenerated || n != 4 {
			t.Errorf("it is %s, %d calls", a.Status, n)
		}
		if j := h.campaign("cancelled"); j.Status != notify.StatusCancelled {
			t.Errorf("the cancelled one is %s", j.Status)
		}
	})
}

func TestActionsThatMakeNoSenseAreRefused(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.begin("spring", crowd(2)...)
		h.drain()
		for name, err := range map[string]error{
			"pause":   h.Campaigns().Pause(t.Context(), "tenant", "spring", sam),
			"resume":  h.Campaigns().Resume(t.Context(), "tenant", "spring", sam),
			"release": h.Support().Release(t.Context(), "tenant", notify.ArtifactMessagingJob, "spring", sam),
		} {
			if !errors.Is(err, notify.ErrActionRefused) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := h.Campaigns().Cancel(t.Context(), "other", "spring", sam); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("another tenant: %v", err)
		}
		if err := h.Campaigns().Cancel(t.Context(), "tenant", "spring", notify.By{Actor: "sam"}); err == nil {
			t.Error("cancelled without a reason")
		}
		if err := h.Campaigns().Cancel(t.Context(), "tenant", "spring", sam); err != nil { // generated: messages may wait
			t.Error(err)
		}
		if err := h.Campaigns().Cancel(t.Context(), "tenant", "spring", sam); !errors.Is(err, notify.ErrActionRefused) {
			t.Errorf("twice: %v", err)
		}
	})
}

// A worker dies while it cancels, and a process that makes messages takes over.
func TestACancellationWhoseWorkerDiedGoesOn(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.begin("spring", crowd(9)...)
		h.run("notify.campaign")
		if err := h.Campaigns().Cancel(t.Context(), "tenant", "spring", sam); err != nil {
			t.Fatal(err)
		}
		edit(h, notify.MessagingJobs, func(j *notify.MessagingJobRow) { j.LeaseExpiresOn, j.ClaimToken = h.clk.Now().Add(lease), "dead" })
		h.clk.Add(2 * lease)
		h.run("notify.campaign")
		if j := h.campaign("spring"); j.Status != notify.StatusCancelled || !j.DueOn.Equal(h.clk.Now()) {
			t.Fatalf("campaign is %+v", j)
		}
		h.run("notify.cancel")
		if j := h.campaign("spring"); j.Cancelled != 3 || j.Done != 3 {
			t.Errorf("campaign is %+v", j)
		}
	})
}
