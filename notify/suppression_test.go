package notify_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// suppressions lists those of a scope as "reason source", in the order of reasons.
func (h *host) suppressions(scope notify.Scope) (out []string) {
	h.t.Helper()
	rows, _, err := h.Contacts().Suppressed(h.t.Context(), scope, storage.Page{})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, s := range rows {
		out = append(out, string(s.Reason)+" "+s.Source)
	}
	return out
}

// stopped is what the gate hears about messages to these addresses.
func (h *host) stopped(scope notify.Scope, addresses ...string) (out []channel.SuppressionReason) {
	h.t.Helper()
	var messages []*notify.MessageRow
	for _, a := range addresses {
		m := &notify.MessageRow{Method: "email", Address: a}
		m.Scope = scope
		messages = append(messages, m)
	}
	h.inOne(func(tx storage.Tx) (err error) {
		out, err = h.StoppedFor(h.t.Context(), tx, messages)
		return err
	})
	return out
}

// A refusal of a call says of the address what a callback would.
func TestARefusalAboutTheAddressSuppressesIt(t *testing.T) {
	for _, reason := range []channel.SuppressionReason{channel.HardBounce, channel.Unsubscribe} {
		t.Run(string(reason), func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				h.answer = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
					if m.Name == "sam" {
						return channel.Receipt{}, channel.Permanent("21610", nil).Suppressing(reason)
					}
					return channel.Receipt{}, channel.Permanent("404", nil).Blame(channel.FaultAddress)
				}
				for i := range 3 {
					h.dispatch(visit(fmt.Sprint(i), person("sam"), person("kim")))
					h.drain()
				}
				h.same("suppressed", []string{string(reason) + " test"}, h.suppressions("tenant"))
				h.same("stopped", []channel.SuppressionReason{reason, ""}, h.stopped("tenant", "sam@example.com", "kim@example.com"))
				h.same("calls", 4, len(h.sent())) // one to sam, three to kim
				if s := only(h, notify.Suppressions); s.MessageID == "" || !s.Since.Equal(h.clk.Now()) {
					t.Errorf("suppression is %+v", s)
				}
				ended := map[string]int{}
				for _, m := range all(h, notify.Messages) {
					ended[m.RecipientRef+" "+m.ReasonCode]++
				}
				h.same("messages", map[string]int{"sam 21610": 1, "sam Suppressed": 2, "kim 404": 3}, ended)
			})
		})
	}
}

// A domain is the same in either script, and no server tells mailboxes apart by case.
func TestAnAddressIsSuppressedInEverySpelling(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		err := h.Contacts().Suppress(t.Context(), "tenant", channel.HardBounce, support,
			notify.Destination{Method: "email", Address: "Sam@bücher.example"}, notify.Destination{Method: "email", Address: "JÖRG@example.com"})
		if err != nil {
			t.Fatal(err)
		}
		for i, address := range []string{"sam@bücher.example", "SAM@BÜCHER.example", "sam@xn--bcher-kva.example", "jörg@Example.com", "sam@buecher.example"} {
			p := person("sam")
			p.Address = address
			h.dispatch(visit(fmt.Sprint(i), p))
		}
		h.drain()
		if sent := h.sent(); len(sent) != 1 || sent[0].To != "sam@buecher.example" {
			t.Errorf("sent %+v", sent)
		}
		if err := h.Contacts().Unsuppress(t.Context(), "tenant", notify.Destination{Method: "email", Address: "sam@XN--BCHER-KVA.example"}, support); err != nil {
			t.Error(err)
		}
	})
}

// While messages are redirected, a refusal speaks of another address than theirs.
func TestARefusalOfARedirectedMessageSuppressesNobody(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		gates := gate.New(h.store, &gate.Options{Guard: &gate.Guard{Redirect: map[string]string{"email": "qa@example.com"}}})
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet, Gates: gates}, h.provider)
		h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		h.answer = func(context.Context, channel.Message) (channel.Receipt, error) {
			return channel.Receipt{}, channel.Permanent("550 5.1.1", nil).Suppressing(channel.HardBounce)
		}
		h.dispatch(visit("7", person("sam")))
		h.drain()
		h.same("to", "qa@example.com", h.sent()[0].To)
		h.same("suppressed", []string(nil), h.suppressions("tenant"))
	})
}

// The same holds for what its provider reports later.
func TestACallbackAboutARedirectedMessageSuppressesNobody(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		gates := gate.New(h.store, &gate.Options{Guard: &gate.Guard{Redirect: map[string]string{"email": "qa@example.com"}}})
		guarded := notify.New(h.store, &notify.Options{Logger: quiet, Gates: gates}, h.provider)
		guarded.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		free := h.Notifier
		h.Notifier = guarded
		h.dispatch(visit("7", person("sam")))
		h.drain()
		h.same("to", "qa@example.com", h.sent()[0].To)
		m := only(h, notify.Messages)
		h.same("redirected", true, m.Redirected)
		h.Notifier = free
		for _, kind := range []channel.StatusKind{channel.KindBounced, channel.KindComplained, channel.KindUnsubscribed} {
			e := about(m, kind)
			e.Lasting = true
			h.track(e)
		}
		h.same("suppressed", []string(nil), h.suppressions("tenant"))
	})
}

func TestBouncesComplaintsAndUnsubscribesSuppress(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		m := h.accepted()
		soft := about(m, channel.KindBounced)
		h.track(soft, about(m, channel.KindFailed))
		h.same("after a bounce that passes", []string(nil), h.suppressions("tenant"))
		h.track(about(m, channel.KindUnsubscribed), about(m, channel.KindComplained))
		h.same("after a complaint", []string{"Complaint test", "Unsubscribe test"}, h.suppressions("tenant"))
		h.same("stopped", []channel.SuppressionReason{channel.Complaint, ""}, h.stopped("tenant", "sam@example.com", "kim@example.com"))
		hard := soft
		hard.EventID, hard.Lasting, hard.Code = "hard", true, "550"
		h.track(hard)
		h.same("stopped", []channel.SuppressionReason{channel.HardBounce, channel.HardBounce, ""}, h.stopped("tenant", "sam@example.com", "Sam@example.com", "sam@example.org"))
		h.same("another tenant", []channel.SuppressionReason{""}, h.stopped("other", "sam@example.com"))
		for _, s := range all(h, notify.Suppressions) {
			if text := fmt.Sprintf("%+v", s); s.MessageID != m.MessageID || !s.Since.Equal(soft.On) || strings.Contains(strings.ToLower(text), "sam") {
				t.Error(text)
			}
		}
		facts, err := h.Support().DeliveryFacts(t.Context(), "tenant", m.MessageID)
		if err != nil || len(facts) != 4 {
			t.Errorf("facts: %+v, %v", facts, err)
		}
		for _, f := range facts {
			h.same("lasting", f.Kind == channel.KindBounced && f.Code == "550", f.Lasting)
		}
	})
}

// A report that names an address counts for the message only if it is the recipient's: what
// they forward their mail to is another one. Who gets the mail can write such a report, so it
// suppresses only addresses that the mail went to.
func TestAReportCountsForTheAddressThatItNames(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		m := h.accepted()
		report := func(id string, k channel.StatusKind, address string) channel.StatusEvent {
			e := about(m, k)
			e.EventID, e.Lasting, e.AddressOnly, e.Address = id, true, true, channel.PrivateAddress(address)
			return e
		}
		h.track(report("1", channel.KindFailed, "sam@elsewhere.example"), report("2", channel.KindBounced, "sam@elsewhere.example"))
		h.same("stopped", []channel.SuppressionReason{"", ""}, h.stopped("tenant", "sam@example.com", "sam@elsewhere.example"))
		h.status(notify.StatusSentToProvider)
		h.track(report("3", channel.KindFailed, "SAM@Example.com"), report("4", channel.KindBounced, "SAM@Example.com"))
		h.same("stopped", []channel.SuppressionReason{channel.HardBounce}, h.stopped("tenant", "sam@example.com"))
		h.status(notify.StatusFailedFinal)
	})
}

func TestAPersonSuppressesAndLifts(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		sam := notify.Destination{"email", "sam@EXAMPLE.com"}
		for range 2 { // saying it twice changes nothing
			if err := h.Contacts().Suppress(t.Context(), "tenant", channel.Unsubscribe, support, sam, notify.Destination{"sms", "+44 20 7946 0018"}, sam); err != nil {
				t.Fatal(err)
			}
		}
		h.same("list", []string{"Unsubscribe Support", "Unsubscribe Support"}, h.suppressions("tenant"))
		h.same("stopped", []channel.SuppressionReason{channel.Unsubscribe}, h.stopped("tenant", "sam@example.com"))
		if err := h.Contacts().Unsuppress(t.Context(), "other", sam, support); !errors.Is(err, notify.ErrActionRefused) {
			t.Errorf("another tenant lifts it: %v", err)
		}
		if err := h.Contacts().Unsuppress(t.Context(), "tenant", sam, notify.By{Actor: "kim"}); err == nil {
			t.Error("nobody says why")
		}
		if err := h.Contacts().Unsuppress(t.Context(), "tenant", sam, support); err != nil {
			t.Fatal(err)
		}
		h.same("lifted", []channel.SuppressionReason{""}, h.stopped("tenant", "sam@example.com"))
		if err := h.Contacts().Unsuppress(t.Context(), "tenant", sam, support); !errors.Is(err, notify.ErrActionRefused) {
			t.Errorf("it is lifted twice: %v", err)
		}
		if err := h.Contacts().Suppress(t.Context(), "tenant", channel.Unsubscribe, support, sam); err != nil {
			t.Fatal(err)
		}
		key := keys.RecipientHash(nil, "", "email", "sam@example.com") + "\x1fUnsubscribe"
		h.same("audit", []string{"Suppress by kim:  to Active", "Unsuppress by kim: Active to Lifted", "Suppress by kim: Lifted to Active"}, h.actions("suppression", key))
	})
}

func TestWhatCannotBeSuppressedIsRefused(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		sam := notify.Destination{"email", "sam@example.com"}
		for want, err := range map[string]error{
			"Suppress, destination 2: the delivery method": h.Contacts().Suppress(t.Context(), "tenant", channel.Complaint, support, sam, notify.Destination{"email", "canary"}),
			"is not a reason":                   h.Contacts().Suppress(t.Context(), "tenant", "Dislike", support, sam),
			"no actor":                          h.Contacts().Suppress(t.Context(), "tenant", channel.Complaint, notify.By{Reason: "x"}, sam),
			"scope: text holds a NUL character": h.Contacts().Suppress(t.Context(), "\x00any", channel.Complaint, support, sam),
			"more than 1000":                    h.Contacts().Suppress(t.Context(), "tenant", channel.Complaint, support, make([]notify.Destination, 1001)...),
			"Unsuppress: the delivery method":   h.Contacts().Unsuppress(t.Context(), "tenant", notify.Destination{"email", "canary"}, support),
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
		h.track(about(m, channel.KindComplained))
		if err := h.Contacts().Unsuppress(t.Context(), "tenant", notify.Destination{"email", "sam@example.com"}, support); err != nil {
			t.Fatal(err)
		}
		again := about(m, channel.KindComplained)
		again.EventID = "another"
		h.track(again)
		h.same("list", []string{"Complaint test"}, h.suppressions("tenant"))
	})
}

func TestASuppressedAddressGetsNothingOrOnlyWhatItAskedFor(t *testing.T) {
	key := []byte("0123456789abcdef0123456789abcdef")
	gated(t, func(storage.Store) *notify.Options {
		return &notify.Options{HashKey: key}
	}, func(t *testing.T, h *host) {
		h.Register(notify.Type{Name: "reset", Requested: true})
		requested := func(m *notify.OutgoingMessage) { m.NotificationType = "reset" }
		for reason, address := range map[channel.SuppressionReason]string{channel.HardBounce: "gone@example.com", channel.Complaint: "angry@example.com"} {
			if err := h.Contacts().Suppress(t.Context(), "tenant", reason, support, notify.Destination{"email", address}); err != nil {
				t.Fatal(err)
			}
		}
		h.ensure(letter("a", "gone"), letter("b", "gone", requested), letter("c", "angry"), letter("d", "angry", requested),
			letter("e", "sam"), letter("f", "gone", in("another")))
		h.drain()
		h.same("sent", map[string]int{"d": 1, "e": 1, "f": 1}, h.texts())
		for _, text := range []string{"a", "b", "c"} {
			if m := h.row(text); m.Status != notify.StatusSkipped || m.ReasonCode != reasons.Suppressed {
				t.Errorf("%s is %+v", text, m)
			}
		}
	})
}
