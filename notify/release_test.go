package notify_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// held puts messages of a text on hold, as after the last of their tries.
func (h *host) held(reason, code string, texts ...string) {
	h.t.Helper()
	rows := all(h, notify.Messages)
	err := h.store.InTx(h.t.Context(), func(tx storage.Tx) error {
		for _, m := range rows {
			if !slices.Contains(texts, m.Content.Text) {
				continue
			}
			m.Status, m.DueOn, m.RetryCount, m.ReasonCode = notify.StatusRetryReady, time.Time{}, 8, code
			m.IsOnSupportHold, m.HoldReason = true, reason
			if err := notify.Messages.Save(h.t.Context(), tx, m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// What an outage has left on hold goes on, of all tenants and page by page; what is
// stale or waits for something else stays.
func TestWhatAnOutageHasLeftOnHoldIsReleasedPageByPage(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		texts := []string{"north", "stale"}
		for i := range 4 {
			texts = append(texts, fmt.Sprint(i))
			h.ensure(letter(fmt.Sprint(i), fmt.Sprint("r", i)))
		}
		h.ensure(letter("north", "sam", in("north")), letter("gates", "sam"), letter("conflict", "sam"))
		h.ensure(letter("stale", "sam", func(m *notify.OutgoingMessage) { m.ValidUntil = h.clk.Now().Add(time.Hour) }))
		h.held(reasons.RetriesExhausted, "401", texts...)
		h.held(reasons.RetriesExhausted, reasons.GateFailed, "gates")
		h.held(reasons.Conflict, "401", "conflict")
		h.clk.Add(2 * time.Hour)
		of := notify.HeldMessages{Channel: channelKey, Reason: "401", Everywhere: true, Limit: 4}
		release := func(opts *notify.ActionOptions) (released, refused int) {
			for page := of; ; {
				report, err := h.Support().ReleaseHeld(t.Context(), "", page, support, opts)
				if err != nil || len(report.Messages) > 4 || report.DryRun != (opts != nil) {
					t.Fatalf("%+v, %v", report, err)
				}
				released, refused = released+report.Done, refused+report.Refused
				if page.After = report.Next; page.After == "" {
					return released, refused
				}
			}
		}
		if released, refused := release(&notify.ActionOptions{DryRun: true}); released != 5 || refused != 1 {
			t.Errorf("a dry run: %d, %d refused", released, refused)
		}
		h.drain()
		h.same("sent by a dry run", 0, len(h.sent()))
		own := of
		own.Everywhere = false
		if report, err := h.Support().ReleaseHeld(t.Context(), "north", own, support, nil); err != nil || report.Done != 1 || report.Messages[0].Scope != "north" {
			t.Errorf("one tenant's: %+v, %v", report, err)
		}
		if released, refused := release(nil); released != 4 || refused != 1 {
			t.Errorf("%d, %d refused", released, refused)
		}
		h.drain()
		h.same("sent", map[string]int{"0": 1, "1": 1, "2": 1, "3": 1, "north": 1}, h.texts())
		h.same("audit", 5, len(all(h, audit.Table)))
		if m := h.row("0"); m.ValidUntil.IsZero() || m.RetryCount != 0 {
			t.Errorf("it is valid for ever: %+v", m)
		}
		if released, refused := release(nil); released != 0 || refused != 1 {
			t.Errorf("again: %d, %d refused", released, refused)
		}
		for _, bad := range []notify.HeldMessages{{}, {Channel: "a", Limit: 1001}, {Channel: "a", After: "!"}} {
			if _, err := h.Support().ReleaseHeld(t.Context(), "tenant", bad, support, nil); err == nil {
				t.Errorf("%+v is taken", bad)
			}
		}
		if _, err := h.Support().ReleaseHeld(t.Context(), "tenant", of, support, nil); err == nil {
			t.Error("one tenant, and all of them")
		}
		if _, err := h.Support().ReleaseHeld(t.Context(), "", of, notify.By{}, nil); err == nil {
			t.Error("by nobody")
		}
	})
}
