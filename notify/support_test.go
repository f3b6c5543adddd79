package notify_test

import (
	"errors"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

var support = notify.By{Actor: "kim", Reason: "the provider's log says so"}

// inDoubt leaves one message in doubt and on hold.
func (h *host) inDoubt() *notify.MessageRow {
	h.t.Helper()
	h.crashing("", h.provider)
	h.drain()
	m := h.status(notify.StatusOutcomeUnknown)
	if !m.IsOnSupportHold {
		h.t.Fatalf("message is %+v", m)
	}
	return m
}

// actions are those of the audit of a row.
func (h *host) actions(table, key string) []string {
	h.t.Helper()
	return h.actionsIn("tenant", table, key)
}

func (h *host) actionsIn(scope notify.Scope, table, key string) (all []string) {
	h.t.Helper()
	err := h.store.InTx(h.t.Context(), func(tx storage.Tx) error {
		entries, err := audit.History(h.t.Context(), tx, scope, table, key, 10)
		for _, e := range entries {
			all = append(all, e.Action+" by "+e.Actor+": "+e.From+" to "+e.To)
		}
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return all
}

func TestAPersonDecidesThatAMessageArrived(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		m := h.inDoubt()
		if err := h.Support().Resolve(t.Context(), "tenant", m.Key, notify.DecideSent, support); err != nil {
			t.Fatal(err)
		}
		h.clk.Add(24 * time.Hour)
		h.drain()
		m = h.status(notify.StatusSentToProvider)
		if m.Resolution != notify.ResolvedBySupport || m.IsOnSupportHold || len(h.sent()) != 0 {
			t.Errorf("message is %+v, sent %v", m, h.sent())
		}
		h.same("audit", []string{"ResolveSent by kim: OutcomeUnknown to SentToProvider"}, h.actions("outgoing_message", m.Key))
		if err := h.Support().Resolve(t.Context(), "tenant", m.Key, notify.DecideSendAgain, support); !errors.Is(err, notify.ErrActionRefused) {
			t.Errorf("a message that is not in doubt: %v", err)
		}
	})
}

func TestAPersonDecidesToSendAgain(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		m := h.inDoubt()
		if err := h.Support().Resolve(t.Context(), "tenant", m.Key, notify.DecideSendAgain, support); err != nil {
			t.Fatal(err)
		}
		h.drain()
		h.status(notify.StatusSentToProvider)
		if sent := h.sent(); len(sent) != 1 || sent[0].ID != m.MessageID || sent[0].Attempt != 2 {
			t.Errorf("sent %v", sent)
		}
	})
}

func TestSupportActionsRefuseWhatMakesNoSense(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		m := h.inDoubt()
		for name, err := range map[string]error{
			"no decision":          h.Support().Resolve(t.Context(), "tenant", m.Key, "Perhaps", support),
			"release of a doubt":   h.Support().Release(t.Context(), "tenant", notify.ArtifactOutgoingMessage, m.Key, support),
			"an artifact unheld":   h.Support().Release(t.Context(), "tenant", notify.ArtifactNotificationJob, only(h, notify.Jobs).Key, support),
			"a kind without holds": h.Support().Release(t.Context(), "tenant", notify.ArtifactUserMessage, m.Key, support),
		} {
			if !errors.Is(err, notify.ErrActionRefused) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := h.Support().Resolve(t.Context(), "another tenant", m.Key, notify.DecideSent, support); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("another tenant: %v", err)
		}
		if err := h.Support().Resolve(t.Context(), "tenant", m.Key, notify.DecideSent, notify.By{Actor: "kim"}); err == nil {
			t.Error("no reason was given")
		}
		h.status(notify.StatusOutcomeUnknown)
	})
}
