package notify_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// outage has a provider refuse until its messages have failed for good.
func (h *host) outage(codeOf func(notify.Message) string) {
	h.t.Helper()
	h.answer = func(_ context.Context, m notify.Message) (notify.Receipt, error) {
		return notify.Receipt{}, notify.Transient(codeOf(m), 0, nil)
	}
	for range 4 {
		h.drain()
		h.clk.Add(2 * time.Hour)
	}
	h.drain()
	h.answer = nil
	h.calls = nil
}

func always(code string) func(notify.Message) string {
	return func(notify.Message) string { return code }
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
		h.same("answer", notify.Retried{Key: failed.Key, MessageID: failed.MessageID, ReasonCode: "401", Attempt: failed.Key + "_1", AttemptNo: 1}, got)
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
		wanted := notify.Proceed()
		h.Register(notify.Type{Name: "asked", Renderer: visitTemplate, Revalidator: notify.RevalidatorFunc(func(context.Context, notify.Job) (notify.Verdict, error) {
			return wanted, nil
		})})
		job := visit("7", person("sam"))
		job.Type = "asked"
		h.dispatch(job)
		h.outage(always("503"))
		wanted = notify.Skip("Over")
		got, err := h.Support().Retry(t.Context(), "tenant", h.status(notify.StatusFailedFinal).Key, support)
		if err != nil {
			t.Fatal(err)
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
		h.outage(func(m notify.Message) string {
			if m.To == "sam@example.com" {
				return "401"
			}
			return "503"
		})
		f := notify.Failures{Channel: channelKey, Reason: "401", Limit: 2}
		dry, err := h.Support().RetryFailed(t.Context(), "tenant", f, support, &notify.ActionOptions{DryRun: true})
		if err != nil || !dry.DryRun || dry.Retried != 2 || dry.Next == "" || len(all(h, notify.Messages)) != 11 {
			t.Fatalf("%+v, %v", dry, err)
		}
		before := driver.Now(h.store)
		var retried int
		for page := f; ; {
			report, err := h.Support().RetryFailed(t.Context(), "tenant", page, support, nil)
			if err != nil || report.Refused != 0 {
				t.Fatal(report, err)
			}
			retried += report.Retried
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
		if err != nil || again.Retried != 0 || again.Refused != 2 {
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
		if _, err := h.Support().RetryFailed(t.Context(), "\x00any", f, support, &notify.ActionOptions{DryRun: true}); err == nil {
			t.Error("all tenants at once")
		}
	})
}
