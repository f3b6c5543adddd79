package notify_test

import (
	"errors"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// "A conflict stops": nobody knows which of the two payloads is meant.
func TestAnotherPayloadStopsACampaignUnderWay(t *testing.T) {
	for name, before := range map[string]func(h *host){
		"planned":   func(*host) {},
		"begun":     func(h *host) { h.run("notify.scheduler"); h.run("notify.campaign") },
		"paused":    func(h *host) { h.run("notify.scheduler"); h.pauseCampaign("spring") },
		"generated": func(h *host) { h.run("notify.scheduler"); h.run("notify.campaign"); h.run("notify.campaign") },
	} {
		t.Run(name, func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				h.SetChunk(3)
				job := h.plan("spring", h.audience(crowd(6)...))
				before(h)
				job.Blob = h.audience(crowd(7)...).Blob
				for range 2 {
					var conflict *notify.ConflictError
					if _, err := h.EnsureMessagingJob(t.Context(), nil, job); !errors.As(err, &conflict) {
						t.Fatal(err)
					}
				}
				h.drain()
				h.clk.Add(2 * time.Hour)
				h.drain()
				h.same("calls", 0, len(h.sent()))
				if j := h.campaign("spring"); !j.IsOnSupportHold || j.HoldReason != reasons.Conflict || j.ReasonCode != reasons.Conflict {
					t.Errorf("campaign is %+v", j)
				}
				for _, m := range all(h, notify.Messages) {
					if m.Status != notify.StatusRetryReady || m.ReasonCode != reasons.Conflict {
						t.Errorf("%s is %s %s", m.RecipientRef, m.Status, m.ReasonCode)
					}
				}
				found, _, err := h.Support().Conflicts(t.Context(), "tenant", storage.Page{})
				if err != nil || len(found) != 1 || found[0].Coordinates != (notify.Coordinates{"north_Campaign", "spring"}) || found[0].Field != "ContentHash" {
					t.Errorf("conflicts are %+v, %v", found, err)
				}
				if err := h.Support().Release(t.Context(), "tenant", notify.ArtifactMessagingJob, "spring", sam); err != nil {
					t.Fatal(err)
				}
				h.clk.Add(2 * time.Hour)
				h.drain()
				h.same("calls after the release", 6, len(h.sent()))
			})
		})
	}
}

func (h *host) pauseCampaign(guid string) {
	h.t.Helper()
	if err := h.Campaigns().Pause(h.t.Context(), "tenant", guid, sam); err != nil {
		h.t.Fatal(err)
	}
}

// The keys are the document's.
func TestATraceFollowsACampaign(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		job := h.plan("spring", h.audience(crowd(3)...))
		h.drain()
		h.same("coordinates", notify.Coordinates{"north_Campaign", "spring"}, job.Coordinates())
		for _, at := range []notify.Coordinates{job.Coordinates(), {"spring", "spring"}} {
			got, err := h.Trace(t.Context(), "tenant", at)
			if err != nil || got.Job != nil || got.Campaign == nil || got.Campaign.GUID != "spring" || len(got.Schedules) != 1 || len(got.OutgoingMessages) != 3 {
				t.Errorf("%v: %+v, %v", at, got, err)
			}
		}
		for _, at := range []notify.Coordinates{{"south_Campaign", "spring"}, {"north_Campaign", "summer"}} {
			if got, err := h.Trace(t.Context(), "tenant", at); err != nil || got.Campaign != nil || got.Schedules != nil {
				t.Errorf("%v: %+v, %v", at, got, err)
			}
		}
		if got, err := h.Trace(t.Context(), "another", job.Coordinates()); err != nil || got.Campaign != nil {
			t.Errorf("another tenant: %+v, %v", got, err)
		}
	})
}
