package notify_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

var latecomers = notify.By{Actor: "booking", Reason: "they came later"}

func theVisit() notify.Coordinates {
	j := visit("7")
	return j.Coordinates()
}

// more adds people to the visit, and returns the names of those who are new.
func (h *host) more(people ...notify.Recipient) (added []string) {
	h.t.Helper()
	got, err := h.AddRecipients(h.t.Context(), nil, "tenant", theVisit(), latecomers, people...)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, r := range got {
		added = append(added, r.Ref)
	}
	return added
}

// got are those who got something, with how often.
func (h *host) got() map[string]int {
	out := map[string]int{}
	for _, m := range h.sent() {
		out[m.Name]++
	}
	return out
}

// An Ensure that is repeated with more recipients says whom it leaves out, and a call of
// its own adds them, at any time, each once.
func TestRecipientsAreAddedAtAnyTime(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.dispatch(visit("7", person("sam")))
		again, err := h.EnsureNotificationJob(t.Context(), nil, visit("7", person("kim"), person("sam"), person("lee")))
		if err != nil || again[0].Outcome != storage.Unchanged || len(again[0].Left) != 2 || again[0].Left[0].Ref != "kim" {
			t.Fatalf("%+v, %v", again, err)
		}
		h.same("added before it is due", []string{"kim"}, h.more(person("sam"), person("kim"), person("kim")))
		h.drain()
		h.same("after the first run", map[string]int{"sam": 1, "kim": 1}, h.got())
		h.clk.Add(time.Hour)
		h.same("added afterwards", []string{"lee"}, h.more(person("lee"), person("kim")))
		h.same("again", []string(nil), h.more(person("lee")))
		h.drain()
		h.same("in the end", map[string]int{"sam": 1, "kim": 1, "lee": 1}, h.got())
		if j := only(h, notify.Jobs); j.Status != notify.StatusGenerated || len(j.Recipients) != 3 {
			t.Errorf("the job is %s with %d recipients", j.Status, len(j.Recipients))
		}
		if again, err = h.EnsureNotificationJob(t.Context(), nil, visit("7", person("kim"), person("lee"))); err != nil || again[0].Left != nil {
			t.Errorf("%+v, %v", again, err)
		}
	})
}

// A worker that has the job decides about those it knew; the others come after it.
func TestRecipientsAreAddedUnderAWorkersHands(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.Register(notify.Type{Name: "slow", Renderer: notify.RendererFunc(func(_ context.Context, _ notify.Job, r notify.Recipient) (notify.Content, error) {
			if r.Ref == "sam" && len(only(h, notify.Jobs).Recipients) == 1 {
				h.more(person("kim"))
			}
			return notify.Content{Text: "Dear " + r.Name}, nil
		})})
		job := visit("7", person("sam"))
		job.Type = "slow"
		h.dispatch(job)
		h.drain()
		h.same("sent", map[string]int{"sam": 1, "kim": 1}, h.got())
	})
}

func TestNobodyIsAddedToWhatHasEnded(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		at, ctx := theVisit(), t.Context()
		if _, err := h.AddRecipients(ctx, nil, "tenant", at, latecomers, person("sam")); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("without a job: %v", err)
		}
		h.dispatch(visit("7", person("sam")))
		for want, bad := range map[string]func() error{
			"actor": func() error {
				_, err := h.AddRecipients(ctx, nil, "tenant", at, notify.By{}, person("kim"))
				return err
			},
			"recipient 2": func() error {
				_, err := h.AddRecipients(ctx, nil, "tenant", at, latecomers, person("kim"), notify.Recipient{Inbox: "kim"})
				return err
			},
		} {
			if err := bad(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
		if err := h.Support().Cancel(ctx, "tenant", notify.ArtifactNotificationJob, only(h, notify.Jobs).Key, support); err != nil {
			t.Fatal(err)
		}
		if _, err := h.AddRecipients(ctx, nil, "tenant", at, latecomers, person("kim")); !errors.Is(err, notify.ErrActionRefused) {
			t.Errorf("to a cancelled job: %v", err)
		}
		if j := only(h, notify.Jobs); len(j.Recipients) != 1 {
			t.Errorf("half written: %d recipients", len(j.Recipients))
		}
	})
}
