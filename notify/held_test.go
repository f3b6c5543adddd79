package notify_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// Everything that waits for a person is found, and released by the Key found.
func TestWhateverIsHeldIsListedAndReleased(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		broken := true
		h.Register(notify.Type{Name: "broken", Renderer: notify.RendererFunc(func(context.Context, notify.Job, notify.Recipient) (notify.Content, error) {
			if broken {
				return notify.Content{}, io.ErrUnexpectedEOF
			}
			return notify.Content{Text: "mended"}, nil
		})})
		job := visit("7", person("sam"))
		job.Type = "broken"
		h.dispatch(job)
		orphan := visit("8", person("kim"))
		if _, err := h.EnsureNotificationScheduler(t.Context(), nil, notify.ScheduleFor(orphan, time.Time{})); err != nil {
			t.Fatal(err)
		}
		h.begin("spring", person("lee"))
		edit(h, notify.MessagingJobs, func(j *notify.MessagingJobRow) { j.Type = "broken" })
		for range 5 {
			h.drain()
			h.clk.Add(2 * time.Hour)
		}
		found := func(scope notify.Scope) (keys [3][]string) {
			ctx := t.Context()
			of, _, err1 := h.Support().HeldSchedules(ctx, scope, notify.HoldRetries, storage.Page{})
			jobs, _, err2 := h.Support().HeldJobs(ctx, scope, notify.HoldRetries, storage.Page{})
			campaigns, _, err3 := h.Support().HeldCampaigns(ctx, scope, notify.HoldRetries, storage.Page{})
			if err1 != nil || err2 != nil || err3 != nil {
				t.Fatal(err1, err2, err3)
			}
			for _, s := range of {
				keys[0] = append(keys[0], s.Key)
			}
			for _, j := range jobs {
				keys[1] = append(keys[1], j.Key)
			}
			for _, c := range campaigns {
				keys[2] = append(keys[2], c.Key)
			}
			return keys
		}
		held := found("tenant")
		if len(held[0]) != 1 || len(held[1]) != 1 || len(held[2]) != 1 {
			t.Fatalf("held: %v", held)
		}
		h.same("another tenant", [3][]string{}, found("another"))
		broken = false
		h.dispatch(orphan)
		for i, a := range []notify.Artifact{notify.ArtifactNotificationScheduler, notify.ArtifactNotificationJob, notify.ArtifactMessagingJob} {
			if err := h.Support().Release(t.Context(), "tenant", a, held[i][0], support); err != nil {
				t.Fatal(err)
			}
		}
		h.drain()
		h.same("held", [3][]string{}, found("tenant"))
		h.same("sent", 3, len(h.sent()))
	})
}
