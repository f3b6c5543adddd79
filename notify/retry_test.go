package notify_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// outage has a provider refuse until its messages have failed for good.
func (h *host) outage(codeOf func(channel.Message) string) {
	h.t.Helper()
	h.answer = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		return channel.Receipt{}, channel.Transient(codeOf(m), 0, nil).Blame(channel.FaultAddress)
	}
	for _, wait := range []time.Duration{6, 17, 67, 200, 400, 800, 1600} {
		h.drain()
		h.clk.Add(wait * time.Minute)
	}
	h.drain()
	h.clk.Add(time.Hour)
	h.answer = nil
	h.calls = nil
}

func always(code string) func(channel.Message) string {
	return func(channel.Message) string { return code }
}

func TestAMessageThatHasFailedIsSentAgainAsTheNextAttempt(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.dispatch(visit("7", person("sam")))
		h.outage(always("401"))
		failed := h.status(notify.StatusFailedFinal)
		if err := h.Support().Release(t.Context(), "tenant", notify.ArtifactOutgoingMessage, failed.Key, support); !errors.Is(err, notify.ErrActionRefused) {
			t.Errorf("released: %v", err)
		}
		got, err := h.Support().Retry(t.Context(), "tenant", failed.Key, support)
		if err != nil {
			t.Fatal(err)
		}
		h.same("answer", notify.Acted{Scope: "tenant", Key: failed.Key, MessageID: failed.MessageID, ReasonCode: "401", Attempt: failed.Key + "_1", AttemptNo: 1}, got)
		for range 2 { // a second click
			if _, err := h.Support().Retry(t.Context(), "tenant", failed.Key, support); !errors.Is(err, notify.ErrActionRefused) {
				t.Errorf("again: %v", err)
			}
			h.drain()
		}
		sent := h.sent()
		if len(sent) != 1 || sent[0].ID == failed.MessageID || sent[0].Subject != "7 on 2026-05-01" || sent[0].To != failed.Address {
			t.Fatalf("sent %+v", sent)
		}
		messages, _, err := h.Support().Messages(t.Context(), "tenant", failed.PartitionKey, storage.Page{})
		if err != nil || len(messages) != 2 || messages[0].Status != notify.StatusFailedFinal || messages[1].Status != notify.StatusSentToProvider {
			t.Errorf("%v: %+v", err, messages)
		}
		h.same("audit", []string{"Retry by kim: FailedFinal to FailedFinal"}, h.actions("outgoing_message", failed.Key))
		if _, err := h.Support().Retry(t.Context(), "another", failed.Key, support); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("another tenant: %v", err)
		}
		if _, err := h.Support().Retry(t.Context(), "tenant", got.Attempt, support); !errors.Is(err, notify.ErrActionRefused) {
			t.Errorf("a message that was sent: %v", err)
		}
		if _, err := h.Support().Retry(t.Context(), "tenant", failed.Key, notify.By{Actor: "kim"}); err == nil {
			t.Error("no reason was given")
		}
	})
}

// What an attempt fails of again has another one.
func TestEachAttemptHasANumber(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.ensure(letter("a", "sam"))
		h.outage(always("503"))
		key := h.status(notify.StatusFailedFinal).Key
		for no := 1; no <= 2; no++ {
			got, err := h.Support().Retry(t.Context(), "tenant", key, support)
			if err != nil || got.AttemptNo != no {
				t.Fatal(got, err)
			}
			key = got.Attempt
			h.outage(always("503"))
		}
		h.same("messages", 3, len(all(h, notify.Messages)))
	})
}

// A retried message is asked about as one that waited.
func TestARetryOfWhatIsNotWantedAnyMoreSendsNothing(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		wanted := gate.Proceed()
		h.Register(notify.Type{Name: "asked", Renderer: visitTemplate, Revalidator: notify.RevalidatorFunc(func(context.Context, notify.Job) (gate.Verdict, error) {
			return wanted, nil
		})})
		job := visit("7", person("sam"))
		job.Type = "asked"
		h.dispatch(job)
		h.outage(always("503"))
		wanted = gate.Skip("Over")
		got, err := h.Support().Retry(t.Context(), "tenant", h.status(notify.StatusFailedFinal).Key, support)
		if err != nil {
			t.Fatal(err)
		}
		again, err := h.Support().MessagesByKey(t.Context(), "tenant", got.Attempt)
		if err != nil || len(again) != 1 || again[0].NextRetryOn.IsZero() { // by which a campaign's message is asked about
			t.Errorf("%+v, %v", again, err)
		}
		h.drain()
		for _, m := range all(h, notify.Messages) {
			if m.Key == got.Attempt && m.ReasonCode != "Over" || len(h.sent()) != 0 {
				t.Errorf("%+v", m)
			}
		}
	})
}

func TestManyThatHaveFailedAreSentAgainPageByPage(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		for i := range 5 {
			h.ensure(letter(fmt.Sprint(i), "sam"), letter(fmt.Sprint("other ", i), "kim"))
		}
		h.ensure(letter("elsewhere", "sam", in("another")))
		h.outage(func(m channel.Message) string {
			if m.To == "sam@example.com" {
				return "401"
			}
			return "503"
		})
		f := notify.Failures{Channel: channelKey, Reason: "401", Limit: 2}
		dry, err := h.Support().RetryFailed(t.Context(), "tenant", f, support, &notify.ActionOptions{DryRun: true})
		if err != nil || !dry.DryRun || dry.Done != 2 || dry.Next == "" || len(all(h, notify.Messages)) != 11 {
			t.Fatalf("%+v, %v", dry, err)
		}
		before := driver.Now(h.store)
		var retried int
		for page := f; ; {
			report, err := h.Support().RetryFailed(t.Context(), "tenant", page, support, nil)
			if err != nil || report.Refused != 0 {
				t.Fatal(report, err)
			}
			retried += report.Done
			if page.After = report.Next; page.After == "" {
				break
			}
		}
		h.same("retried", 5, retried)
		h.drain()
		want := map[string]int{}
		for i := range 5 {
			want[fmt.Sprint(i)] = 1
		}
		h.same("sent", want, h.texts())
		again, err := h.Support().RetryFailed(t.Context(), "tenant", f, support, nil)
		if err != nil || again.Done != 0 || again.Refused != 2 {
			t.Errorf("again: %+v, %v", again, err)
		}
		f.Since = before
		if late, err := h.Support().RetryFailed(t.Context(), "tenant", f, support, &notify.ActionOptions{DryRun: true}); err != nil || len(late.Messages) != 0 {
			t.Errorf("since: %+v, %v", late, err)
		}
		h.same("audit", 5, len(all(h, audit.Table)))
		for _, bad := range []notify.Failures{{}, {Channel: "a", Limit: 1001}, {Channel: "a", After: "!"}, {Keys: make([]string, 1001)}} {
			if _, err := h.Support().RetryFailed(t.Context(), "tenant", bad, support, &notify.ActionOptions{DryRun: true}); err == nil {
				t.Errorf("%.80v is taken", bad)
			}
		}
		all := notify.Failures{Channel: channelKey, Limit: 4, Everywhere: true}
		scopes := map[notify.Scope]int{}
		for page := all; ; {
			report, err := h.Support().RetryFailed(t.Context(), "", page, support, &notify.ActionOptions{DryRun: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range report.Messages {
				if m.Refusal == "" {
					scopes[m.Scope]++
				}
			}
			if page.After = report.Next; page.After == "" {
				break
			}
		}
		h.same("of all tenants", map[notify.Scope]int{"tenant": 5, "another": 1}, scopes)
		all.Limit = 1000
		if report, err := h.Support().RetryFailed(t.Context(), "", all, support, nil); err != nil || report.Done != 6 || report.Refused != 5 {
			t.Errorf("of all tenants: %+v, %v", report, err)
		}
		if _, err := h.Support().RetryFailed(t.Context(), "tenant", all, support, nil); err == nil {
			t.Error("one tenant, and all of them")
		}
		if _, err := h.Support().RetryFailed(t.Context(), "\x00any", f, support, &notify.ActionOptions{DryRun: true}); err == nil {
			t.Error("all tenants at once")
		}
	})
}

func TestNothingIsWrittenIfOneArgumentIsRefused(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		bad := visit("8", person("sam"))
		bad.RowKey = "two\x1fparts"
		_, err := h.EnsureNotificationJob(t.Context(), nil, visit("7", person("sam")), bad)
		var part *keys.PartError
		if !errors.As(err, &part) || !strings.Contains(err.Error(), "argument 2") {
			t.Errorf("error is %v", err)
		}
		if n := len(all(h, notify.Jobs)); n != 0 {
			t.Errorf("%d jobs", n)
		}
	})
}

func TestBadInputIsRefusedWithWhatAndWhere(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		ctx := t.Context()
		job := func(change func(*notify.Job)) error {
			j := visit("7", person("sam"))
			change(&j)
			_, err := h.EnsureNotificationJob(ctx, nil, j)
			return err
		}
		message := func(change func(*notify.OutgoingMessage)) error {
			m := notify.OutgoingMessage{Channel: channelKey, PartitionKey: "job", NotificationType: "visit", Address: "sam@example.com"}
			change(&m)
			_, err := h.EnsureOutgoingMessage(ctx, nil, m)
			return err
		}
		_, errArtifact := h.EnsureNotificationScheduler(ctx, nil, notify.Schedule{Type: "visit", ArtifactType: "Letter", ArtifactPartitionKey: "a", ArtifactRowKey: "b"})
		_, errInboxKind := h.EnsureUserMessage(ctx, nil, notify.UserMessage{Type: "visit", PartitionKey: "sam"})
		_, errSource := h.EnsureUserMessage(ctx, nil, notify.UserMessage{Type: "visit", PartitionKey: "user:sam", JobRowKey: "7"})
		_, errTrace := h.EnsureAutomationJob(ctx, nil, notify.AutomationJob{PartitionKey: "a", RowKey: "b"})
		_, errGUID := h.EnsureMessagingJob(ctx, nil, notify.MessagingJob{})
		for want, err := range map[string]error{
			"Type is empty":              job(func(j *notify.Job) { j.Type = "" }),
			"RowKey is empty: ":          job(func(j *notify.Job) { j.RowKey = "" }),
			"EventData: unexpected end":  job(func(j *notify.Job) { j.EventData = []byte("{") }),
			"EventData has":              job(func(j *notify.Job) { j.EventData = []byte(`"` + strings.Repeat("x", notify.MaxEventData) + `"`) }),
			"recipient 1: the inbox":     job(func(j *notify.Job) { j.Recipients[0].Inbox = "sam" }),
			"recipient 1: holds a NUL":   job(func(j *notify.Job) { j.Recipients[0].Name = "\x00" }),
			`method "Mail"`:              job(func(j *notify.Job) { j.Recipients[0].Channel = "Mail" }),
			"Channel is empty":           message(func(m *notify.OutgoingMessage) { m.Channel = "" }),
			"NotificationType is empty":  message(func(m *notify.OutgoingMessage) { m.NotificationType = "" }),
			"address":                    message(func(m *notify.OutgoingMessage) { m.Address = "nobody" }),
			"subject holds a line break": message(func(m *notify.OutgoingMessage) { m.Content.Subject = "a\nb" }),
			"text has 65537 bytes":       message(func(m *notify.OutgoingMessage) { m.Content.Text = strings.Repeat("x", channel.MaxText+1) }),
			"HTML holds a NUL":           message(func(m *notify.OutgoingMessage) { m.Content.HTML = "\x00" }),
			"metadata have": message(func(m *notify.OutgoingMessage) {
				m.Content.Metadata = map[string]string{"a": strings.Repeat("x", 9000)}
			}),
			`ArtifactType "Letter"`:        errArtifact,
			"neither":                      errInboxKind,
			"SourceOn is zero":             errSource,
			"MessageID is not":             message(func(m *notify.OutgoingMessage) { m.MessageID = "m1" }),
			"AutomationJob, argument 1":    errTrace,
			"MessagingJob, argument 1":     errGUID,
			"NotificationJob, argument 1:": job(func(j *notify.Job) { j.RowKey = "" }),
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("want %q, error is %v", want, err)
			}
		}
		if n := len(all(h, notify.Jobs)) + len(all(h, notify.Messages)) + len(all(h, notify.UserMessages)) + len(all(h, notify.Schedules)); n != 0 {
			t.Errorf("%d rows were written", n)
		}
	})
}

func TestATransactionOfAnotherStoreIsRefused(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		err := memory.New(nil).InTx(t.Context(), func(tx storage.Tx) error {
			_, err := h.EnsureNotificationJob(t.Context(), tx, visit("7"))
			return err
		})
		if !errors.Is(err, notify.ErrForeignTx) {
			t.Errorf("error is %v", err)
		}
	})
}

func TestWhatIsCancelledInTimeIsNotSent(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		ctx, later := t.Context(), h.clk.Now().Add(time.Hour)
		byJob, bySchedule := visit("7", person("sam")), visit("8", person("kim"))
		for _, j := range []notify.Job{byJob, bySchedule} {
			if _, err := h.NotifyAt(ctx, j, later); err != nil {
				t.Fatal(err)
			}
		}
		h.ensure(letter("a", "lee", func(m *notify.OutgoingMessage) { m.ScheduledOn = later }))
		plan := notify.ScheduleFor(bySchedule, later)
		guard, err := plan.Guard()
		if err != nil {
			t.Fatal(err)
		}
		for a, key := range map[notify.Artifact]string{
			notify.ArtifactNotificationJob: jobKey(byJob), notify.ArtifactNotificationScheduler: guard, notify.ArtifactOutgoingMessage: h.row("a").Key,
		} {
			if err := h.Support().Cancel(ctx, "another", a, key, support); !errors.Is(err, storage.ErrNotFound) {
				t.Errorf("another tenant: %v", err)
			}
			if err := h.Support().Cancel(ctx, "tenant", a, key, support); err != nil {
				t.Fatal(err)
			}
			if err := h.Support().Cancel(ctx, "tenant", a, key, support); !errors.Is(err, notify.ErrActionRefused) {
				t.Errorf("%s twice: %v", a, err)
			}
		}
		for range 2 { // also when it is asked for once more
			h.clk.Add(2 * time.Hour)
			h.drain()
			h.ensure(letter("a", "lee", func(m *notify.OutgoingMessage) { m.ScheduledOn = later }))
			if _, err := h.NotifyAt(ctx, byJob, later); err != nil {
				t.Fatal(err)
			}
		}
		h.same("sent", 0, len(h.sent()))
		h.same("message", [2]string{notify.StatusCancelled, reasons.Cancelled}, [2]string{h.row("a").Status, h.row("a").ReasonCode})
		h.same("audit", []string{"Cancel by kim: Created to Cancelled"}, h.actions("notification_job", jobKey(byJob)))
	})
}

func jobKey(j notify.Job) string { return j.PartitionKey + "\x1f" + j.RowKey }

func TestAMessageWhoseCallHasBegunIsNotCancelled(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		cancel := func() error {
			return h.Support().Cancel(t.Context(), "tenant", notify.ArtifactOutgoingMessage, only(h, notify.Messages).Key, support)
		}
		h.waiting()
		h.dieCalling()
		if err := cancel(); !errors.Is(err, notify.ErrActionRefused) {
			t.Errorf("while it is called: %v", err)
		}
		h.clk.Add(lease)
		h.run("notify.distributor")
		h.status(notify.StatusOutcomeUnknown)
		if err := cancel(); !errors.Is(err, notify.ErrActionRefused) {
			t.Errorf("in doubt: %v", err)
		}
		job := only(h, notify.Jobs)
		if err := h.Support().Cancel(t.Context(), "tenant", notify.ArtifactNotificationJob, job.Key, support); !errors.Is(err, notify.ErrActionRefused) {
			t.Errorf("a job whose messages are made: %v", err)
		}
		if err := h.Support().Cancel(t.Context(), "tenant", notify.ArtifactMessagingJob, "spring", support); !errors.Is(err, notify.ErrActionRefused) {
			t.Errorf("a campaign: %v", err)
		}
	})
}

// A cancellation comes between the claim and the write before the call.
func TestI26_NoCallStartsForWhatWasCancelledAfterItsClaim(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.waiting()
		row := h.claim([]string{notify.StatusCreated}, notify.StatusSending)[0]
		if err := h.Support().Cancel(t.Context(), "tenant", notify.ArtifactOutgoingMessage, row.Key, support); err != nil {
			t.Fatal(err)
		}
		if err := h.Distribute(t.Context(), notify.Sending{Row: row, Ctx: t.Context(), Lease: lease}); err != nil {
			t.Fatal(err)
		}
		h.clk.Add(time.Hour)
		h.drain()
		h.status(notify.StatusCancelled)
		h.same("calls", 0, len(h.sent()))
	})
}

// What a callback says has arrived has not failed, and is not recovered.
func TestWhatIsDeliveredAllTheSameIsNotSentAgain(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.answer = failing(channel.Permanent("554", nil))
		h.ensure(letter("a", "sam"))
		h.drain()
		e := channel.StatusEvent{Provider: "test", EventID: "1", Kind: channel.KindDelivered, MessageID: h.row("a").MessageID, On: h.clk.Now()}
		if _, err := h.Track(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		h.status(notify.StatusDelivered)
		report, err := h.Support().RetryFailed(t.Context(), "tenant", notify.Failures{Channel: channelKey}, support, nil)
		if err != nil || len(report.Messages) != 0 {
			t.Errorf("%+v, %v", report, err)
		}
	})
}
