package automationhttp_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/cutover"
)

type runPage struct {
	Runs []struct {
		Run, ReportSubscriptionGUID, Status, HoldReasonCode, Diagnostics string
		IsOnSupportHold                                                  bool
	}
	Next string
}

// pages lists runs page by page, two at a time.
func (h *host) pages(path string) (out [][]string) {
	h.Helper()
	for after := ""; ; {
		var page runPage
		h.get(path+"?limit=2&after="+after, &page)
		lines := []string{}
		for _, r := range page.Runs {
			lines = append(lines, strings.TrimSpace(r.ReportSubscriptionGUID+" "+r.Run+" "+r.Status+" "+r.HoldReasonCode))
		}
		out = append(out, lines)
		if after = page.Next; after == "" {
			return out
		}
	}
}

// The three lists, the latest first, page by page, and of the caller's own tenant.
func TestI28_RunsAreListedInTheCallersTenant(t *testing.T) {
	eachHost(t, false, func(h *host) {
		h.subscribe("tenant", "weekly")
		h.subscribe("tenant", "broken")
		h.subscribe("other", "weekly")
		h.pollOn(1)
		h.pollOn(2)
		for path, want := range map[string][][]string{
			ofWeekly: {
				{"weekly scheduled:2026-03-03T09:00:00Z Pending", "weekly scheduled:2026-03-02T09:00:00Z Completed"},
				{"weekly scheduled:2026-03-01T09:00:00Z Completed"},
			},
			all + "/failed": {
				{"broken scheduled:2026-03-02T09:00:00Z Failed PermanentFailure", "broken scheduled:2026-03-01T09:00:00Z Failed PermanentFailure"},
			},
			"/report-subscriptions/none/automation-runs": {{}},
		} {
			if diff := cmp.Diff(want, h.pages(path)); diff != "" {
				h.Errorf("%s: %s", path, diff)
			}
		}
		recent := h.pages(all)
		if len(recent) != 2 || len(recent[0]) != 2 || len(recent[1]) != 2 {
			h.Error(recent)
		}
		if a := h.ask("other tenant", "GET", all+"/failed", ""); a.Body != `{"runs":[]}`+"\n" {
			h.Error(a.Body)
		}
		if a := h.ask("both", "GET", all+"/failed", ""); !strings.Contains(a.Body, `"diagnostics":"no such table"`) {
			h.Error(a.Body)
		}
	})
}

// A run with its history, and what it led to: coordinates, files and messages, which
// have no address.
func TestARunAndItsDelivery(t *testing.T) {
	eachHost(t, false, func(h *host) {
		h.subscribe("tenant", "weekly")
		h.pollOn(1)
		const path = ofWeekly + "/scheduled:2026-03-01T09:00:00Z"
		var detail struct {
			Run          struct{ Status, LocalDate, LocalTime, Zone, Summary string }
			History      []struct{ Action string }
			Now          string
			Explanation  string
			SchedulerKey string
		}
		h.get(path, &detail)
		if r := detail.Run; r.Status != "Completed" || r.LocalDate != "2026-03-01" || r.LocalTime != "09:00" || r.Zone != "Europe/Dublin" || r.Summary != "recipients: 2, files: 1; 1 line" {
			h.Errorf("%+v", r)
		}
		if len(detail.History) != 2 || detail.History[0].Action != "Created" || detail.History[1].Action != "Completed" || detail.Now == "" || !strings.Contains(detail.Explanation, "Completed") {
			h.Errorf("%+v", detail)
		}
		h.delivered(path + "/delivery")
		if a := h.ask("both", "GET", path+"/ownership", ""); a.Status != 404 {
			h.Error("the run of a type that nobody guards has an owner", a.Body)
		}
		for _, none := range []string{"scheduled:2026-03-07T09:00:00Z", "manual:none", "scheduled:soon", "another", "manual:a:b", "scheduled:2026-03-01T09:00:00Z%00", "%FF"} {
			for _, of := range []string{"", "/ownership", "/delivery"} {
				if a := h.ask("both", "GET", ofWeekly+"/"+none+of, ""); a.Status != http.StatusNotFound {
					h.Error(none, of, a.Status, a.Body)
				}
			}
		}
		if a := h.ask("other tenant", "GET", path, ""); a.Status != http.StatusNotFound {
			h.Error("I-28: another tenant's run", a.Body)
		}
	})
}

// delivered pages through the messages of the run.
func (h *host) delivered(path string) {
	h.Helper()
	type delivery struct {
		Path            string
		AutomationJob   struct{ PartitionKey, RowKey string }
		NotificationJob struct{ PartitionKey, RowKey string }
		Files           []struct {
			Name string
			Size int
		}
		Messages []struct{ RecipientRef, Status string }
		Next     string
	}
	refs := map[string]string{}
	var d delivery
	for after := "start"; after != ""; after = d.Next {
		d = delivery{}
		h.get(path+"?limit=1&after="+strings.TrimPrefix(after, "start"), &d)
		for _, m := range d.Messages {
			refs[m.RecipientRef] = m.Status
		}
		if d.Path != "ReportSubscription" || d.AutomationJob.RowKey == "" || d.NotificationJob.PartitionKey != "weekly" || len(d.Files) != 1 || d.Files[0].Size != 4 {
			h.Errorf("%+v", d)
		}
	}
	if diff := cmp.Diff(map[string]string{"kim": "SentToProvider", "lee": "SentToProvider"}, refs); diff != "" {
		h.Error(diff)
	}
	if a := h.ask("both", "GET", path, ""); strings.Contains(a.Body, "example.com") {
		h.Error("an address is shown:", a.Body)
	}
}

// I-22: a guarded run says which side delivers it.
func TestI22_ARunSaysWhoOwnsIt(t *testing.T) {
	eachHost(t, true, func(h *host) {
		h.subscribe("tenant", "weekly")
		const path = ofWeekly + "/scheduled:2026-03-01T09:00:00Z/ownership"
		if a := h.ask("both", "GET", path, ""); !strings.Contains(a.Body, `"owner":"OldScheduler","ownerVersion":1,"status":"Owned"`) {
			h.Error(a.Body)
		}
		by := automation.By{Actor: "sam", Reason: "the roll-out"}
		part := cutover.Part{Scope: "tenant", Type: "sales"}
		for _, stage := range []cutover.Stage{cutover.StageShadow, cutover.StageRunNow, cutover.StageScheduled} {
			if _, err := h.work.Rollout().MoveRollout(h.Context(), part, stage, by, nil); err != nil {
				h.Fatal(err)
			}
		}
		h.pollOn(1)
		var got struct {
			Owner, Status string
			OwnerVersion  int
			Coordinates   map[string]any
			EndedOn       time.Time
			Stage         int
		}
		h.get(path, &got)
		if got.Owner != "AutomationScheduler" || got.Status != "DeliveryCreated" || got.OwnerVersion != 2 || got.Coordinates["notification"] == nil || got.Stage != 3 || !got.EndedOn.Equal(h.clock.Now()) {
			h.Errorf("%+v", got)
		}
		if a := h.ask("other tenant", "GET", path, ""); a.Status != http.StatusNotFound {
			h.Error("I-28: another tenant's run", a.Body)
		}
	})
}

// A page is what was asked for, or a refusal that says what is wrong.
func TestAPageThatIsNone(t *testing.T) {
	eachHost(t, false, func(h *host) {
		h.subscribe("tenant", "weekly")
		h.pollOn(1)
		for query, title := range map[string]string{
			"limit=0": `"limit" must be a number from 1 to 200`, "limit=201": `"limit" must be a number from 1 to 200`, "limit=": `"limit" must be a number from 1 to 200`,
			"limit=x": `"limit" must be a number from 1 to 200`, "limit=1&limit=2": "the query says limit twice", "scope=other": `the query may only have "after" and "limit"`,
			"a;b": "the query cannot be read", "after=x": `"after" must be the "next" of a page`, "after=-9.1": `"after" must be the "next" of a page`,
			"after=%00": `"after" must be the "next" of a page`, "after=%FF": `"after" must be the "next" of a page`,
		} {
			for _, path := range []string{all, all + "/failed", ofWeekly, ofWeekly + "/scheduled:2026-03-01T09:00:00Z/delivery"} {
				if query == "after=x" && strings.HasSuffix(path, "delivery") {
					query = "after=AA" // a NUL, which no database takes
				}
				a := h.ask("both", "GET", path+"?"+query, "")
				var got struct{ Title string }
				if err := json.Unmarshal([]byte(a.Body), &got); err != nil || a.Status != http.StatusBadRequest || got.Title != title {
					h.Errorf("%s?%s: %d %s", path, query, a.Status, a.Body)
				}
			}
		}
		if a := h.ask("both", "GET", all+"?after=1y2p0ij32e8e7.1y2p0ij32e8e7&limit=200", ""); a.Status != http.StatusOK {
			h.Error("the furthest page:", a.Status, a.Body)
		}
		if a := h.ask("both", "GET", "/report-subscriptions/%00/automation-runs", ""); a.Status != http.StatusNotFound {
			h.Error(a.Status, a.Body)
		}
		if text := h.logged(); text != "" {
			h.Error("what a caller gets wrong is logged:", text)
		}
	})
}
