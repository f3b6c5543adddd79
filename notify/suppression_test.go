package notify

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/storage"
)

// suppressions lists those of a scope as "reason source", in the order of reasons.
func (h *host) suppressions(scope Scope) (out []string) {
	h.t.Helper()
	rows, err := h.Suppressed(h.t.Context(), scope, Page{})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, s := range rows {
		out = append(out, string(s.Reason)+" "+s.Source)
	}
	return out
}

// stopped is what the gate hears about messages to these addresses.
func (h *host) stopped(scope Scope, addresses ...string) (out []SuppressionReason) {
	h.t.Helper()
	var messages []*OutgoingMessage
	for _, a := range addresses {
		m := &OutgoingMessage{Method: "email", Address: a}
		m.Scope = scope
		messages = append(messages, m)
	}
	h.inOne(func(tx storage.Tx) (err error) {
		out, err = h.suppressed(h.t.Context(), tx, messages)
		return err
	})
	return out
}

func TestBouncesComplaintsAndUnsubscribesSuppress(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		m := h.accepted()
		soft := about(m, KindBounced)
		h.track(soft, about(m, KindFailed))
		h.same("after a bounce that passes", []string(nil), h.suppressions("tenant"))
		h.track(about(m, KindUnsubscribed), about(m, KindComplained))
		h.same("after a complaint", []string{"Complaint test", "Unsubscribe test"}, h.suppressions("tenant"))
		h.same("stopped", []SuppressionReason{Complaint, ""}, h.stopped("tenant", "sam@example.com", "kim@example.com"))
		hard := soft
		hard.EventID, hard.Lasting, hard.Code = "hard", true, "550"
		h.track(hard)
		h.same("stopped", []SuppressionReason{HardBounce, ""}, h.stopped("tenant", "sam@example.com", "Sam@example.com"))
		h.same("another tenant", []SuppressionReason{""}, h.stopped("other", "sam@example.com"))
		for _, s := range all(h, suppressions) {
			if text := fmt.Sprintf("%+v", s); s.MessageID != m.MessageID || !s.Since.Equal(soft.On) || strings.Contains(strings.ToLower(text), "sam") {
				t.Error(text)
			}
		}
		facts, err := h.DeliveryFacts(t.Context(), "tenant", m.MessageID)
		if err != nil || len(facts) != 4 {
			t.Errorf("facts: %+v, %v", facts, err)
		}
		for _, f := range facts {
			h.same("lasting", f.Kind() == KindBounced && f.Code == "550", f.Lasting)
		}
	})
}

func TestMandatoryMessagesPassAComplaintButNoHardBounce(t *testing.T) {
	t.Parallel()
	for reason, want := range map[SuppressionReason][2]bool{"": {}, HardBounce: {true, true}, Complaint: {true, false}, Unsubscribe: {true, false}} {
		if got := [2]bool{reason.stops(false), reason.stops(true)}; got != want {
			t.Errorf("%q stops %v, want %v", reason, got, want)
		}
	}
}

func TestAPersonSuppressesAndLifts(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		sam := Destination{"email", "sam@EXAMPLE.com"}
		for range 2 { // saying it twice changes nothing
			if err := h.Suppress(t.Context(), "tenant", Unsubscribe, support, sam, Destination{"sms", "+44 20 7946 0018"}, sam); err != nil {
				t.Fatal(err)
			}
		}
		h.same("list", []string{"Unsubscribe Support", "Unsubscribe Support"}, h.suppressions("tenant"))
		h.same("stopped", []SuppressionReason{Unsubscribe}, h.stopped("tenant", "sam@example.com"))
		if err := h.Unsuppress(t.Context(), "other", sam, support); !errors.Is(err, ErrActionRefused) {
			t.Errorf("another tenant lifts it: %v", err)
		}
		if err := h.Unsuppress(t.Context(), "tenant", sam, By{Actor: "kim"}); err == nil {
			t.Error("nobody says why")
		}
		if err := h.Unsuppress(t.Context(), "tenant", sam, support); err != nil {
			t.Fatal(err)
		}
		h.same("lifted", []SuppressionReason{""}, h.stopped("tenant", "sam@example.com"))
		if err := h.Unsuppress(t.Context(), "tenant", sam, support); !errors.Is(err, ErrActionRefused) {
			t.Errorf("it is lifted twice: %v", err)
		}
		if err := h.Suppress(t.Context(), "tenant", Unsubscribe, support, sam); err != nil {
			t.Fatal(err)
		}
		key := suppressionKey(h.addressHash("email", "sam@example.com"), Unsubscribe)
		h.same("audit", []string{"Suppress by kim:  to Active", "Unsuppress by kim: Active to Lifted", "Suppress by kim: Lifted to Active"}, h.actions("suppression", key))
	})
}

func TestWhatCannotBeSuppressedIsRefused(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		sam := Destination{"email", "sam@example.com"}
		for want, err := range map[string]error{
			"Suppress, destination 2: the address": h.Suppress(t.Context(), "tenant", Complaint, support, sam, Destination{"email", "canary"}),
			"is no reason":                         h.Suppress(t.Context(), "tenant", "Dislike", support, sam),
			"no actor":                             h.Suppress(t.Context(), "tenant", Complaint, By{Reason: "x"}, sam),
			"scope of one tenant":                  h.Suppress(t.Context(), storage.AnyScope, Complaint, support, sam),
			"more than 1000":                       h.Suppress(t.Context(), "tenant", Complaint, support, make([]Destination, 1001)...),
			"Unsuppress: the address":              h.Unsuppress(t.Context(), "tenant", Destination{"email", "canary"}, support),
		} {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%s: %v", want, err)
			}
		}
		h.same("list", []string(nil), h.suppressions("tenant"))
	})
}

// A complaint that comes after a person lifted the suppression counts again.
func TestANewComplaintRenewsALiftedSuppression(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		m := h.accepted()
		h.track(about(m, KindComplained))
		if err := h.Unsuppress(t.Context(), "tenant", Destination{"email", "sam@example.com"}, support); err != nil {
			t.Fatal(err)
		}
		again := about(m, KindComplained)
		again.EventID = "another"
		h.track(again)
		h.same("list", []string{"Complaint test"}, h.suppressions("tenant"))
	})
}

func TestTheSuppressionListIsReadPageByPage(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		var many []Destination
		for i := range 5 {
			many = append(many, Destination{"email", fmt.Sprintf("p%d@example.com", i)})
		}
		if err := h.Suppress(t.Context(), "tenant", HardBounce, support, many...); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for page := (Page{Limit: 2}); ; {
			rows, err := h.Suppressed(t.Context(), "tenant", page)
			if err != nil {
				t.Fatal(err)
			}
			if len(rows) == 0 {
				break
			}
			for _, s := range rows {
				seen[s.AddressHash] = true
				page.After = s.Key
			}
		}
		h.same("rows", 5, len(seen))
	})
}
