package notify_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
)

func redirected(h *host) {
	h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet}, notify.Redirect("QA@Inside.example", h.provider))
	h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
}

func TestAllMailOfAStagingSystemGoesToOneAddressAndShowsIt(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		redirected(h)
		h.ensure(letter("hello", "sam", func(m *notify.OutgoingMessage) {
			m.Content.Subject = "Your certificate"
			m.Content.Mail = channel.Mail{CC: []string{"kim@example.com"}, BCC: []string{"ann@example.com"}, ReplyTo: "office@example.com"}
		}))
		h.drain()
		sent := h.sent()
		if len(sent) != 1 {
			t.Fatalf("%d mails", len(sent))
		}
		m := sent[0]
		h.same("mail", []any{"QA@inside.example", "[sam@example.com] Your certificate", "hello", "office@example.com", "", 0, "yes"},
			[]any{m.To, m.Subject, m.Text, m.Mail.ReplyTo, m.UnsubscribeURL, len(m.Mail.CC) + len(m.Mail.BCC), m.Mail.Headers["X-Belfry-Redirected"]})
		if err := m.Mail.Check(); err != nil {
			t.Error(err)
		}
		row := only(h, notify.Messages)
		h.same("row", []any{"sam@example.com", true, 0}, []any{row.Address, row.Redirected, row.Copies})
	})
}

// What becomes of a mail speaks of the one address, and not of whom it was for.
func TestNothingThatARedirectedChannelSaysSuppressesAnybody(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		redirected(h)
		h.dispatch(visit("7", person("sam")))
		h.drain()
		e := about(only(h, notify.Messages), channel.KindBounced)
		e.Lasting = true
		h.track(e)
		h.answer = func(context.Context, channel.Message) (channel.Receipt, error) {
			return channel.Receipt{}, channel.Permanent("550 5.1.1", nil).Suppressing(channel.HardBounce)
		}
		h.dispatch(visit("8", person("kim")))
		h.drain()
		h.same("suppressed", []string(nil), h.suppressions("tenant"))
	})
}

// answering is a channel with all that a channel can have besides.
type answering struct{ channel.Channel }

func (answering) IdempotencyWindow() time.Duration { return time.Hour }
func (answering) MaxCalls() int                    { return 3 }
func (answering) Capabilities() channel.Capabilities {
	return channel.Capabilities{Attachments: true, Mail: true}
}
func (answering) ReportedBy() string          { return "somebody" }
func (answering) LookupWindow() time.Duration { return 0 }

func (answering) Lookup(_ context.Context, m channel.Message) (channel.LookupResult, error) {
	return channel.LookupResult{Receipt: channel.Receipt{ID: m.To}}, nil
}

// inPairs takes two messages by one call.
type inPairs struct{ answering }

func (inPairs) MaxBatch() int { return 2 }
func (inPairs) SendBatch(context.Context, []channel.Message) ([]channel.BatchResult, error) {
	return nil, nil
}

func TestARedirectedChannelCanDoWhatItCould(t *testing.T) {
	t.Parallel()
	plain := channel.Func("email:plain", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		return channel.Receipt{ID: m.Subject}, channel.Permanent("550", nil).Suppressing(channel.HardBounce)
	})
	able, bare := notify.Redirect("qa@school.example", answering{plain}), notify.Redirect("qa@school.example", plain)
	if can := channel.CapabilitiesOf(notify.Redirect("qa@school.example", inPairs{answering{plain}})); can.Batch != 0 || !can.Mail {
		t.Errorf("it declares %+v", can)
	}
	found, err := able.(channel.StatusLookup).Lookup(t.Context(), channel.Message{To: "sam@example.com"})
	if err != nil || found.Receipt.ID != "qa@school.example" {
		t.Error(found, err)
	}
	if _, ok := bare.(channel.StatusLookup); ok {
		t.Error("a channel that cannot be asked can be asked")
	}
	got := fmt.Sprint(able.Key(), able.(channel.IdempotentSend).IdempotencyWindow(), able.(channel.Bounded).MaxCalls(), able.(notify.Reported).ReportedBy(),
		bare.(channel.IdempotentSend).IdempotencyWindow(), bare.(channel.Bounded).MaxCalls() > 1000, bare.(notify.Reported).ReportedBy())
	if want := fmt.Sprint("email:plain", time.Hour, 3, "somebody", time.Duration(0), true, "plain"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if lacks := channel.CapabilitiesOf(able).Lacks(channel.CapabilitiesOf(answering{plain})); len(lacks) > 0 {
		t.Error("it lacks", lacks)
	}
	receipt, err := bare.Send(t.Context(), channel.Message{To: "sam@example.com", Subject: strings.Repeat("ü", 500)})
	if e := channel.Classify(err); e == nil || e.Suppress != "" || e.Class != channel.ClassPermanent {
		t.Error(err)
	}
	if n := len(receipt.ID); n > channel.MaxSubject || n < channel.MaxSubject-1 || !strings.HasSuffix(receipt.ID, "ü") {
		t.Errorf("the subject has %d bytes", n)
	}
}

func TestWhatCannotBeRedirectedIsAPanic(t *testing.T) {
	t.Parallel()
	send := func(context.Context, channel.Message) (channel.Receipt, error) { return channel.Receipt{}, nil }
	a, b := channel.Func("email:a", send), channel.Func("email:b", send)
	for name, f := range map[string]func(){
		"no address": func() { notify.Redirect("nobody", a) },
		"a phone":    func() { notify.Redirect("qa@school.example", channel.Func("sms:a", send)) },
		"nil":        func() { notify.Redirect("qa@school.example", nil) },
		"a chain":    func() { notify.Redirect("qa@school.example", notify.Failover(a, b)) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

func ExampleRedirect() {
	mails := channel.Func("email:print", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		fmt.Println(m.To, "-", m.Subject)
		return channel.Receipt{}, nil
	})
	staging := notify.Redirect("qa@school.example", mails) // notify.New(store, nil, staging)
	_, err := staging.Send(context.Background(), channel.Message{To: "sam@example.com", Subject: "Your certificate expires"})
	fmt.Println(err)
	// Output:
	// qa@school.example - [sam@example.com] Your certificate expires
	// <nil>
}
