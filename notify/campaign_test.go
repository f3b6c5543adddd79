package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage/driver"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/storage"
)

var sam = notify.By{Actor: "sam", Reason: "a call"}

// audience is a payload of people, with what a visit's template asks for.
func (h *host) audience(people ...notify.Recipient) notify.Payload {
	h.t.Helper()
	p, err := h.putAudience(people...)
	if err != nil {
		h.t.Fatal(err)
	}
	return p
}

func (h *host) putAudience(people ...notify.Recipient) (notify.Payload, error) {
	return h.putAudienceWith(`{"Source":"spring","On":"2026-05-01"}`, people...)
}

func (h *host) putAudienceWith(data string, people ...notify.Recipient) (notify.Payload, error) {
	return h.Campaigns().PutAudience(h.t.Context(), notify.AudienceOf(func(yield func(notify.Recipient, error) bool) {
		for _, r := range people {
			if !yield(r, nil) {
				return
			}
		}
	}), &notify.PayloadOptions{EventData: json.RawMessage(data)})
}

// plan ensures a campaign and its schedule.
func (h *host) plan(guid string, p notify.Payload) notify.MessagingJob {
	h.t.Helper()
	job := notify.MessagingJob{
		Scope: "tenant", Type: "visit", GUID: guid, BusinessUnit: "north",
		Blob: p.Blob, AudienceSize: p.Recipients,
	}
	if _, err := h.Campaigns().Start(h.t.Context(), job, time.Time{}); err != nil {
		h.t.Fatal(err)
	}
	return job
}

// begin plans a campaign in chunks of three, and makes it ready.
func (h *host) begin(guid string, people ...notify.Recipient) {
	h.t.Helper()
	h.SetChunk(3)
	h.plan(guid, h.audience(people...))
	h.run("notify.scheduler")
}

func (h *host) campaign(guid string) *notify.MessagingJobRow {
	h.t.Helper()
	var j *notify.MessagingJobRow
	h.inOne(func(tx storage.Tx) (err error) {
		j, err = notify.MessagingJobs.Get(h.t.Context(), tx, "tenant", guid)
		return err
	})
	return j
}

func crowd(n int) []notify.Recipient {
	out := make([]notify.Recipient, n)
	for i := range out {
		out[i] = person(fmt.Sprintf("p%03d", i))
	}
	return out
}

// outcomes are the messages by recipient.
func (h *host) outcomes() map[string]string {
	out := map[string]string{}
	for _, m := range all(h, notify.Messages) {
		out[m.RecipientRef] = strings.TrimSpace(m.Status + " " + m.ReasonCode)
	}
	return out
}

func (h *host) called() []string {
	var out []string
	for _, m := range h.sent() {
		out = append(out, m.To)
	}
	slices.Sort(out)
	return out
}

// Communication - System architecture, "Choose send path by producer".
func TestACampaignReachesEveryRecipientOnce(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		bad, nobody, both := person("kim"), notify.Recipient{Ref: "nobody"}, person("ann")
		bad.Address, both.Inbox = "no address\x1b", "user:ann"
		again := person("sam")
		again.Address = "sam@EXAMPLE.com"
		h.begin("spring", person("sam"), bad, nobody, both, again, person("joe"), inbox("zoe"))
		h.drain()
		h.same("messages", map[string]string{
			"sam": "SentToProvider", "kim": "Skipped BadAddress", "ann": "SentToProvider", "joe": "SentToProvider",
		}, h.outcomes())
		h.same("calls", []string{"ann@example.com", "joe@example.com", "sam@example.com"}, h.called())
		for _, m := range all(h, notify.Messages) {
			if m.PartitionKey != "spring" || m.JobPartitionKey != "" || m.Lane != storage.LaneBulk || m.BusinessUnit != "north" {
				t.Errorf("message is %+v", m)
			}
			if m.Status != notify.StatusSkipped && m.Content.Subject != "spring on 2026-05-01" {
				t.Errorf("it says %q", m.Content.Subject)
			}
		}
		if n := len(all(h, notify.UserMessages)); n != 2 {
			t.Errorf("%d in-app messages", n)
		}
		j := h.campaign("spring")
		h.same("count", [5]int{7, 7, 4, 2, 1}, [5]int{j.AudienceSize, j.Done, j.Generated, j.Skipped, j.Repeated})
		if j.Status != notify.StatusGenerated || !j.DueOn.IsZero() || j.Offset != j.Blob.Size {
			t.Errorf("campaign is %+v", j)
		}
	})
}

func TestEachRecipientIsToldWhatIsTheirOwn(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.Register(notify.Type{Name: "voucher", Renderer: notify.Template{Subject: "{{.Source}}", Text: "{{.Code}} in {{.EventData.Source}}"}})
		sam, kim := person("sam"), person("kim")
		sam.Data, kim.Data = map[string]string{"Code": "17"}, map[string]string{"Code": "18", "Source": "summer"}
		job := h.plan("spring", h.audience(sam, kim))
		job.GUID, job.Type = "vouchers", "voucher"
		if _, err := h.EnsureMessagingJob(t.Context(), nil, job); err != nil {
			t.Fatal(err)
		}
		if _, err := h.EnsureNotificationScheduler(t.Context(), nil, notify.ScheduleForCampaign(job, time.Time{})); err != nil {
			t.Fatal(err)
		}
		h.drain()
		said := map[string]string{}
		for _, m := range all(h, notify.Messages) {
			if m.PartitionKey == "vouchers" {
				said[m.RecipientRef] = m.Content.Subject + ": " + m.Content.Text
			}
		}
		h.same("texts", map[string]string{"sam": "spring: 17 in spring", "kim": "summer: 18 in spring"}, said)
	})
}

func TestACampaignForNobodyIsSkipped(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.begin("empty")
		h.begin("unreachable", notify.Recipient{Ref: "nobody"})
		h.drain()
		for guid, reason := range map[string]string{"empty": reasons.NoRecipients, "unreachable": reasons.NoDestination} {
			if j := h.campaign(guid); j.Status != notify.StatusSkipped || j.ReasonCode != reason {
				t.Errorf("%s is %s %s", guid, j.Status, j.ReasonCode)
			}
		}
	})
}

// Communication - System architecture, "Partial failure handling": MessagingJob
// exists, blob incompatible.
func TestAnIncompatibleBlobStopsTheCampaign(t *testing.T) {
	header := `{"format":"belfry-audience-1","eventData":null}` + "\n"
	line := `{"ref":"sam","channel":"email:test","address":"sam@Example.com","name":"sam","locale":"en"}` + "\n"
	for name, text := range map[string]string{
		"no audience":        "audience",
		"a later version":    strings.Replace(header, "-1", "-2", 1) + line,
		"no recipient":       header + line + "{}}\n",
		"an unknown part":    header + line + `{"ref":"kim","also":1}` + "\n",
		"cut off":            header + line + line[:20],
		"a line too long":    header + line + strings.Repeat(" ", 64<<10) + line,
		"no possible method": header + line + `{"ref":"kim","channel":":"}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				ref, err := h.store.Blobs().Put(t.Context(), strings.NewReader(text))
				if err != nil {
					t.Fatal(err)
				}
				h.plan("spring", notify.Payload{Blob: ref})
				h.drain()
				j := h.campaign("spring")
				h.same("hold", driver.SupportHold{IsOnSupportHold: true, HoldReason: reasons.Conflict}, j.SupportHold)
				if j.Status != notify.StatusStopped || j.ReasonCode != reasons.PayloadIncompatible || !j.DueOn.IsZero() || len(h.sent()) != 0 {
					t.Errorf("campaign is %s %s, %d calls", j.Status, j.ReasonCode, len(h.sent()))
				}
				if err := h.Campaigns().Cancel(t.Context(), "tenant", "spring", sam); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestACampaignWithoutABlobStopsAndOneWhoseBlobIsGoneWaits(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.plan("without", notify.Payload{})
		gone := h.audience(person("sam"))
		h.plan("gone", gone)
		if err := h.store.Blobs().Delete(t.Context(), gone.Blob); err != nil {
			t.Fatal(err)
		}
		h.drain()
		if j := h.campaign("without"); j.Status != notify.StatusStopped || j.ReasonCode != reasons.PayloadIncompatible {
			t.Errorf("campaign is %s %s", j.Status, j.ReasonCode)
		}
		if j := h.campaign("gone"); j.Status != notify.StatusReady || j.ReasonCode != reasons.PayloadMissing || j.RetryCount != 1 {
			t.Errorf("campaign is %s %s", j.Status, j.ReasonCode)
		}
	})
}

// Communication - Codebase flow, "Important tests".
func TestARetryOfACampaignWithTheSameAudienceIsCompatibleAndWithAnotherAConflict(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		first := h.audience(crowd(5)...)
		job := h.plan("spring", first)
		h.drain()
		job.Blob = h.audience(crowd(5)...).Blob
		if _, err := h.EnsureMessagingJob(t.Context(), nil, job); err != nil {
			t.Fatal(err)
		}
		again, err := h.putAudienceWith(`{"On": "2026-05-01", "Source": "spri\u006eg"}`, crowd(5)...)
		if err != nil || again.Blob.SHA256 != first.Blob.SHA256 {
			t.Errorf("in another spelling the payload is %v, was %v, %v", again.Blob, first.Blob, err)
		}
		job.Blob = h.audience(crowd(6)...).Blob
		got, err := h.Campaigns().Start(t.Context(), job, time.Time{})
		var conflict *notify.ConflictError
		if !errors.As(err, &conflict) || conflict.Field != "ContentHash" || got.Outcome != storage.Conflict {
			t.Errorf("%v, error is %v", got.Outcome, err)
		}
		h.drain()
		if j := h.campaign("spring"); j.Blob != first.Blob || len(h.sent()) != 5 {
			t.Errorf("blob %v, %d calls", j.Blob, len(h.sent()))
		}
	})
}

// A message of another type is under the campaign's keys already.
func TestAConflictOfOneMessageStopsTheCampaign(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.begin("spring", crowd(6)...)
		_, err := h.EnsureOutgoingMessage(t.Context(), nil, notify.OutgoingMessage{
			Scope: "tenant", Channel: channelKey, PartitionKey: "spring", NotificationType: "other",
			RecipientRef: "p004", Address: "p004@example.com", ScheduledOn: h.clk.Now().AddDate(1, 0, 0),
		})
		if err != nil {
			t.Fatal(err)
		}
		h.drain()
		j := h.campaign("spring")
		if j.Status != notify.StatusStopped || j.ReasonCode != reasons.Conflict || j.Done != 3 || len(h.sent()) != 3 {
			t.Errorf("campaign is %s %s after %d, %d calls", j.Status, j.ReasonCode, j.Done, len(h.sent()))
		}
		if n := len(all(h, notify.Conflicts)); n != 1 {
			t.Errorf("%d conflicts recorded", n)
		}
		for _, m := range all(h, notify.Messages) {
			if m.Status == notify.StatusCreated && m.RecipientRef != "p004" && m.HoldReason != reasons.Conflict {
				t.Errorf("%s is not held", m.RecipientRef)
			}
		}
	})
}

func TestAnotherHashKeyInTheMiddleStopsTheCampaign(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		people := crowd(6)
		people[5] = people[0]
		h.begin("spring", people...)
		h.run("notify.campaign")
		mine := h.Notifier
		h.Notifier = notify.New(h.store, &notify.Options{HashKey: hashKeyOf("another"), FormerHashKeys: [][]byte{nil}, Logger: quiet}, h.provider)
		h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		h.SetChunk(3)
		if err := h.Contacts().RotateHashKey(t.Context(), sam, nil); err != nil {
			t.Fatal(err)
		}
		h.run("notify.campaign")
		if j := h.campaign("spring"); j.Status != notify.StatusStopped || j.ReasonCode != reasons.HashKeyChanged || j.Done != 3 {
			t.Fatalf("campaign is %+v", j)
		}
		if err := h.Support().Release(t.Context(), "tenant", notify.ArtifactMessagingJob, "spring", sam); err != nil {
			t.Fatal(err)
		}
		h.Notifier = mine // the old key is back, but a person has let any pass
		h.drain()
		if j := h.campaign("spring"); j.Status != notify.StatusGenerated || j.Repeated != 1 || len(h.sent()) != 5 {
			t.Errorf("campaign is %+v, %d calls", j, len(h.sent()))
		}
	})
}

// I-1: also across chunks one recipient gets one message.
func TestI1_WhoIsInTheAudienceTwiceGetsOneMessage(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		people := slices.Concat(crowd(4), crowd(4), crowd(2))
		h.begin("spring", people...)
		h.drain()
		j := h.campaign("spring")
		h.same("count", [4]int{10, 4, 0, 6}, [4]int{j.Done, j.Generated, j.Skipped, j.Repeated})
		h.same("calls", []string{"p000@example.com", "p001@example.com", "p002@example.com", "p003@example.com"}, h.called())
	})
}

func TestAMessageOfACampaignIsRevalidatedBeforeItsRetry(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		var asked []notify.Job
		h.Register(notify.Type{Name: "offer", Renderer: visitTemplate, Revalidator: notify.RevalidatorFunc(func(_ context.Context, j notify.Job) (gate.Verdict, error) {
			asked = append(asked, j)
			return gate.Skip("Over"), nil
		})})
		h.answer = func(context.Context, channel.Message) (channel.Receipt, error) {
			return channel.Receipt{}, channel.Transient("busy", 0, nil)
		}
		h.begin("spring", person("sam"))
		h.retype("offer")
		h.drain()
		h.clk.Add(time.Hour)
		h.drain()
		h.same("messages", map[string]string{"sam": "Skipped Over"}, h.outcomes())
		if len(asked) != 1 || asked[0].RowKey != "spring" || asked[0].PartitionKey != "north_Campaign" || !strings.Contains(string(asked[0].EventData), "2026-05-01") {
			t.Errorf("asked about %+v", asked)
		}
	})
}

func TestAnUrgentMessageDuringACampaignLeavesWithinOnePoll(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.Register(notify.Type{Name: "alarm", Renderer: visitTemplate, Urgent: true})
		h.SetChunk(250)
		h.plan("spring", h.audience(crowd(2000)...))
		for range 3 { // some are out, many wait, more are to be made
			h.pollOnce(100)
		}
		before := len(h.sent())
		alarm := visit("fire", person("warden"))
		alarm.Type = "alarm"
		h.dispatch(alarm)
		h.pollOnce(100)
		left := slices.ContainsFunc(h.sent()[before:], func(m channel.Message) bool { return m.To == "warden@example.com" })
		if j := h.campaign("spring"); !left || j.Status != notify.StatusReady || before == 0 {
			t.Errorf("left: %v, campaign is %s, %d were out before", left, j.Status, before)
		}
	})
}

// pollOnce is one poll of every pass, as a poller makes it.
func (h *host) pollOnce(batch int) {
	h.t.Helper()
	for _, p := range h.Passes() {
		if _, err := p.Runner(workOptions).Poll(h.t.Context(), batch); err != nil {
			h.t.Fatal(err)
		}
	}
}

func TestTheProgressOfACampaignIsTold(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.begin("spring", crowd(12)...)
		h.run("notify.campaign")
		h.clk.Add(time.Second)
		h.run("notify.campaign")
		h.run("notify.distributor")
		p, err := h.Campaigns().Progress(t.Context(), "tenant", "spring")
		if err != nil {
			t.Fatal(err)
		}
		h.same("progress", notify.CampaignProgress{
			Scope: "tenant", GUID: "spring", Type: "visit", BusinessUnit: "north", Status: notify.StatusReady,
			Recipients: 12, Done: 6, Generated: 6, PerSecond: 3, Left: 2 * time.Second,
			Messages: map[string]int{notify.StatusSentToProvider: 6}, StartedOn: storetest.Start,
		}, p)
		if _, err := h.Campaigns().Progress(t.Context(), "other", "spring"); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("another tenant: %v", err)
		}
		if _, err := h.Campaigns().Progress(t.Context(), "\x00any", "spring"); err == nil || !strings.Contains(err.Error(), "scope: text holds a NUL") {
			t.Errorf("no tenant: %v", err)
		}
	})
}
