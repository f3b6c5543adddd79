package notify_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
)

// copying has visits rendered with a copy to these, for a host with these gates.
func (h *host) copying(o notify.Options, mail channel.Mail) {
	o.Logger = quiet
	h.Notifier = notify.New(h.store, &o, h.provider)
	h.Register(notify.Type{Name: "visit", Renderer: notify.RendererFunc(func(context.Context, notify.Job, notify.Recipient) (notify.Content, error) {
		return notify.Content{Subject: "visit", Mail: mail}, nil
	})})
}

// copies are those of the last call, and how many the row says there were.
func (h *host) copies() (cc, bcc []string, n int) {
	h.t.Helper()
	sent := h.sent()
	m := sent[len(sent)-1].Mail
	return m.CC, m.BCC, all(h, notify.Messages)[0].Copies
}

func TestACopyReachesWhoeverNoGateIsAgainst(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.copying(notify.Options{}, channel.Mail{ReplyTo: "office@example.com", CC: []string{"Kim <kim@bücher.example>", "gone@example.com", "SAM@example.com"},
			BCC: []string{"left@example.com", "spam@example.com", "archive@example.com"}})
		for address, reason := range map[string]channel.SuppressionReason{"gone@example.com": channel.HardBounce, "left@example.com": channel.Unsubscribe, "spam@example.com": channel.Complaint} {
			if err := h.Contacts().Suppress(t.Context(), "tenant", reason, support, notify.Destination{Method: "email", Address: address}); err != nil {
				t.Fatal(err)
			}
		}
		h.dispatch(visit("7", person("sam")))
		h.drain()
		cc, bcc, n := h.copies()
		h.same("cc", []string{"Kim <kim@bücher.example>"}, cc)
		h.same("bcc", []string{"archive@example.com"}, bcc)
		h.same("copies", 2, n)
		h.same("answers", "office@example.com", h.sent()[0].Mail.ReplyTo)
	})
}

// A staging system writes to nobody outside.
func TestAGuardLetsNoCopyOut(t *testing.T) {
	mail := channel.Mail{CC: []string{"customer@elsewhere.example", "kim@example.com"}, BCC: []string{"boss@elsewhere.example"}}
	for name, c := range map[string]struct {
		guard gate.Guard
		to    string
		cc    []string
	}{
		"recipient is allowed": {gate.Guard{Allow: []string{"@example.com"}, Redirect: map[string]string{"email": "qa@example.org"}}, "sam@example.com", []string{"kim@example.com"}},
		"mail is redirected":   {gate.Guard{Allow: []string{"kim@example.com"}, Redirect: map[string]string{"email": "qa@example.org"}}, "qa@example.org", []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				h.copying(notify.Options{Gates: gate.New(h.store, &gate.Options{Guard: &c.guard})}, mail)
				h.dispatch(visit("7", person("sam")))
				h.drain()
				cc, bcc, n := h.copies()
				h.same("to", c.to, h.sent()[0].To)
				h.same("cc", c.cc, cc)
				h.same("bcc", []string{}, bcc)
				h.same("copies", len(c.cc), n)
			})
		})
	}
}

// A dry run says who would get a copy, and why others would not.
func TestADryRunForecastsCopies(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		if err := h.Contacts().Suppress(t.Context(), "tenant", channel.HardBounce, support, notify.Destination{Method: "email", Address: "gone@example.com"}); err != nil {
			t.Fatal(err)
		}
		letter := notify.OutgoingMessage{
			Scope: "tenant", Channel: channelKey, PartitionKey: "j", NotificationType: "visit", RecipientRef: "sam", Address: "sam@example.com",
			Content: notify.Content{Subject: "visit", Mail: channel.Mail{CC: []string{"Kim <kim@example.com>", "SAM@example.com"}, BCC: []string{"gone@example.com"}}},
		}
		redirected := letter
		redirected.PartitionKey, redirected.RecipientRef, redirected.Address = "k", "ann", "ann@elsewhere.example"
		guard := gate.Guard{Allow: []string{"@example.com"}, Redirect: map[string]string{"email": "qa@example.com"}}
		h.copying(notify.Options{Gates: gate.New(h.store, &gate.Options{Guard: &guard})}, channel.Mail{})
		got, err := h.DryRun(t.Context(), letter, redirected)
		if err != nil {
			t.Fatal(err)
		}
		h.same("copies", map[string]gate.Verdict{"kim@example.com": gate.Proceed(), "gone@example.com": gate.Skip(reasons.Suppressed)}, got[0].Copies)
		h.same("of a redirected message", 0, len(got[1].Copies))
		if _, err := h.EnsureOutgoingMessage(t.Context(), nil, letter); err != nil {
			t.Fatal(err)
		}
		h.drain()
		cc, bcc, _ := h.copies()
		h.same("as it was forecast", []string{"Kim <kim@example.com>"}, append(cc, bcc...))
	})
}

func TestAGateThatFailsLetsNoCopyThrough(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		broken := errors.New("broken")
		h.copying(notify.Options{Gates: []gate.Gate{gate.Func(func(_ context.Context, a gate.Attempt) (gate.Verdict, error) {
			if a.RecipientRef != "" {
				return gate.Proceed(), nil
			}
			if !a.DryRun || a.Requested {
				h.t.Errorf("a copy is asked about as %+v", a)
			}
			return gate.Proceed(), broken
		})}}, channel.Mail{CC: []string{"kim@example.com"}})
		h.dispatch(visit("7", person("sam")))
		h.drain()
		h.same("calls", 0, len(h.sent()))
		h.same("reason", reasons.GateFailed, h.status(notify.StatusRetryReady).ReasonCode)
	})
}

// A provider reports about each copy; what it says of one is not about the message.
func TestACallbackAboutACopySuppressesTheCopy(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.copying(notify.Options{}, channel.Mail{CC: []string{"kim@example.com"}})
		h.answer = failing(channel.Unknown("cut", nil))
		h.dispatch(visit("7", person("sam")))
		h.drain()
		m := h.status(notify.StatusOutcomeUnknown)
		var events []channel.StatusEvent
		for _, kind := range []channel.StatusKind{channel.KindFailed, channel.KindBounced, channel.KindOpened} {
			e := about(m, kind)
			e.Address, e.Lasting = "KIM@example.com", kind == channel.KindBounced
			events = append(events, e)
		}
		h.same("report", notify.TrackReport{Applied: 3}, h.track(events...))
		h.status(notify.StatusSentToProvider) // the provider has it
		h.same("suppressed", []string{"HardBounce test"}, h.suppressions("tenant"))
		h.same("stopped", []channel.SuppressionReason{"", channel.HardBounce}, h.stopped("tenant", "sam@example.com", "kim@example.com"))
		own := about(m, channel.KindDelivered)
		own.Address = "sam@Example.com"
		h.track(own)
		h.status(notify.StatusDelivered)
	})
}

// A report that came back by mail suppresses who got a copy, and not whom it names besides:
// who gets the mail can write such a report.
func TestAReportSuppressesOnlyWhoGotACopy(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.copying(notify.Options{}, channel.Mail{CC: []string{"Kim <kim@example.com>"}, BCC: []string{"boss@example.com"}})
		h.dispatch(visit("7", person("sam")))
		h.drain()
		m := h.status(notify.StatusSentToProvider)
		for _, address := range []channel.PrivateAddress{"KIM@example.com", "boss@example.com", "alex@example.com"} {
			e := about(m, channel.KindBounced)
			e.EventID, e.Lasting, e.AddressOnly, e.Address = string(address), true, true, address
			h.same("report", notify.TrackReport{Applied: 1}, h.track(e))
		}
		want := []channel.SuppressionReason{channel.HardBounce, channel.HardBounce, "", ""}
		h.same("stopped", want, h.stopped("tenant", "kim@example.com", "boss@example.com", "alex@example.com", "sam@example.com"))
	})
}

func TestCopiesThatAProviderRefusedAreNotCounted(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.copying(notify.Options{}, channel.Mail{CC: []string{"kim@example.com", "alex@example.com"}})
		h.answer = func(context.Context, channel.Message) (channel.Receipt, error) {
			return channel.Receipt{Refused: 1}, nil
		}
		h.dispatch(visit("7", person("sam")))
		h.drain()
		h.same("copies", 1, h.status(notify.StatusSentToProvider).Copies)
	})
}

func TestAnInboxShowsNobodyWhoElseGotTheMail(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		h.copying(notify.Options{}, channel.Mail{BCC: []string{"boss@example.com"}})
		sam := person("sam")
		sam.Inbox = "user:sam"
		h.dispatch(visit("7", sam))
		h.drain()
		h.same("mail", true, only(h, notify.UserMessages).Content.Mail.IsZero())
		_, err := h.EnsureUserMessage(h.t.Context(), nil, notify.UserMessage{Scope: "tenant", Type: "visit", PartitionKey: "user:sam", JobRowKey: "a", SourceOn: h.clk.Now(),
			Content: notify.Content{Mail: channel.Mail{ReplyTo: "a@example.com"}}})
		if err == nil || !strings.Contains(err.Error(), "Content.Mail is for e-mails") {
			h.t.Error(err)
		}
	})
}

func TestMailHeadersThatAreRefused(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		h.copying(notify.Options{MailHeaders: []string{"X-Booking"}}, channel.Mail{})
		for want, mail := range map[string]channel.Mail{
			"":                          {ReplyTo: "Ann <a@bücher.example>", Headers: map[string]string{"x-booking": "7", "Importance": "high"}},
			"ReplyTo":                   {ReplyTo: "a@example.com, b@example.com"},
			"copy 2":                    {CC: []string{"a@example.com"}, BCC: []string{"A@Example.com"}},
			"copy 1":                    {CC: []string{"a@example.com\nBcc: b@example.com"}},
			"21 copies":                 {CC: slices.Repeat([]string{"a@example.com"}, 21)},
			"not a Message-ID":          {References: []string{"<a@b>"}},
			"have 913 bytes":            {References: slices.Repeat([]string{strings.Repeat("a", 78) + "@a"}, 11)},
			"among Options":             {Headers: map[string]string{"X-Other": "7"}},
			"Bcc is set by the channel": {Headers: map[string]string{"Bcc": "a@example.com"}},
			"Content-Type is set by":    {Headers: map[string]string{"Content-Type": "text/html"}},
			"not a name":                {Headers: map[string]string{"X A": "7"}},
			"value of X-Booking":        {Headers: map[string]string{"X-Booking": "7\r\nBcc: a@example.com"}},
		} {
			j := visit("7")
			_, err := h.EnsureOutgoingMessage(h.t.Context(), nil, notify.OutgoingMessage{Scope: "tenant", Channel: channelKey, PartitionKey: j.RowKey,
				NotificationType: "visit", Address: "sam@example.com", Content: notify.Content{Subject: "a", Mail: mail}})
			switch {
			case want == "" && err != nil, want != "" && (!errors.Is(err, channel.ErrContent) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "@example")):
				h.t.Errorf("%q: %v", want, err)
			}
		}
		for _, name := range []string{"To", "X-SMTPAPI", "x-mc-bccaddress", "Resent-To", "a b", ""} {
			refused(h.t, name, func() { notify.New(h.store, &notify.Options{MailHeaders: []string{name}}) })
		}
	})
}

// refused expects a panic.
func refused(t testing.TB, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%q is not refused", what)
		}
	}()
	f()
}
