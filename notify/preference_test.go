package notify_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

func (h *host) prefers(p ...notify.Preference) {
	h.t.Helper()
	if err := h.Contacts().SetPreferences(h.t.Context(), p...); err != nil {
		h.t.Fatal(err)
	}
}

// answersOf asks one gate about attempts and gives the reasons, empty for Proceed.
func (h *host) answersOf(g gate.Gate, a ...gate.Attempt) []string {
	h.t.Helper()
	verdicts, err := g.Ask(h.t.Context(), a)
	if err != nil {
		h.t.Fatal(err)
	}
	out := make([]string, len(verdicts))
	for i, v := range verdicts {
		if v.Action != gate.ActionProceed {
			out[i] = string(v.Action) + " " + v.Reason
		}
	}
	return out
}

func TestTheMostParticularPreferenceDecides(t *testing.T) {
	const stopped = "Skip " + reasons.OptedOut
	gated(t, with(gate.Options{}), func(t *testing.T, h *host) {
		out, in := true, false
		h.prefers(
			notify.Preference{Scope: "tenant", RecipientRef: "everything", OptedOut: out},
			notify.Preference{Scope: "tenant", RecipientRef: "method", Method: "email", OptedOut: out},
			notify.Preference{Scope: "tenant", RecipientRef: "type", Type: "visit", OptedOut: out},
			notify.Preference{Scope: "tenant", RecipientRef: "both", Type: "visit", Method: "email", OptedOut: out},
			notify.Preference{Scope: "tenant", RecipientRef: "but", OptedOut: out},
			notify.Preference{Scope: "tenant", RecipientRef: "but", Type: "visit", OptedOut: in},
			notify.Preference{Scope: "another", RecipientRef: "sam", OptedOut: out},
			notify.Preference{Scope: "tenant", RecipientRef: "back", OptedOut: out},
		)
		h.prefers(notify.Preference{Scope: "tenant", RecipientRef: "back", OptedOut: in})
		now := h.clk.Now()
		about := func(recipient, kind, method string, mandatory bool) gate.Attempt {
			a := attemptOf("id", recipient, now)
			a.NotificationType, a.Method, a.Mandatory = kind, method, mandatory
			return a
		}
		g := h.RecipientGate()
		h.same("visits by mail", []string{stopped, stopped, stopped, stopped, "", "", ""}, h.answersOf(g,
			about("everything", "visit", "email", false), about("method", "visit", "email", false), about("type", "visit", "email", false),
			about("both", "visit", "email", false), about("but", "visit", "email", false), about("sam", "visit", "email", false), about("back", "visit", "email", false)))
		h.same("others", []string{stopped, "", "", "", stopped, ""}, h.answersOf(g,
			about("everything", "offer", "sms", false), about("method", "visit", "sms", false), about("type", "offer", "email", false),
			about("both", "visit", "sms", false), about("but", "offer", "email", false), about("everything", "offer", "email", true)))
		got, err := h.Contacts().Preferences(t.Context(), "tenant", "but")
		if err != nil || len(got) != 2 || got[0].OptedOut == got[1].OptedOut {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// A strange message does not stop those beside it.
func TestStrangeNamesHaveKeysToo(t *testing.T) {
	gated(t, with(gate.Options{}), func(t *testing.T, h *host) {
		long := strings.Repeat("x", 3000)
		h.prefers(notify.Preference{Scope: "tenant", RecipientRef: long, Type: "a\x1fb", OptedOut: true})
		a, b := attemptOf("id", long, h.clk.Now()), attemptOf("id", "sam", h.clk.Now())
		a.NotificationType = "a\x1fb"
		h.same("answers", []string{"Skip " + reasons.OptedOut, ""}, h.answersOf(h.RecipientGate(), a, b))
	})
}

// offers is a group that has to be asked for.
func offers(storage.Store) *notify.Options {
	return &notify.Options{Groups: []notify.Group{{Name: "offers", OptIn: true}, {Name: "news"}}}
}

func offer(id, recipient string) notify.OutgoingMessage {
	return letter(id, recipient, func(m *notify.OutgoingMessage) { m.Group = "offers" })
}

// Silence is not consent, nor is a wish for everything; one click takes it back.
func TestWhatHasToBeAskedForGoesToWhoHasAsked(t *testing.T) {
	gated(t, offers, func(t *testing.T, h *host) {
		h.prefers(
			notify.Preference{Scope: "tenant", RecipientRef: "asked", Group: "offers", Method: "email"},
			notify.Preference{Scope: "tenant", RecipientRef: "asked for the type", Type: "visit"},
			notify.Preference{Scope: "tenant", RecipientRef: "wants everything"},
			notify.Preference{Scope: "tenant", RecipientRef: "asked by text message", Group: "offers", Method: "sms"},
			notify.Preference{Scope: "tenant", RecipientRef: "has left", Group: "offers", Method: "email"},
			notify.Preference{Scope: "tenant", RecipientRef: "wants nothing", OptedOut: true},
			notify.Preference{Scope: "another", RecipientRef: "silent", Group: "offers"},
		)
		h.prefers(notify.Preference{Scope: "tenant", RecipientRef: "has left", Group: "offers", Method: "email", OptedOut: true})
		about := func(who string) gate.Attempt {
			a := attemptOf("id", who, h.clk.Now())
			a.NotificationType, a.Group, a.OptIn = "visit", "offers", true
			return a
		}
		mandatory, news := about("silent"), about("silent")
		mandatory.Mandatory = true
		news.Group, news.OptIn = "news", false
		const not, left = "Skip " + reasons.NoConsent, "Skip " + reasons.OptedOut
		h.same("answers", []string{"", "", not, not, left, left, not, "", ""}, h.answersOf(h.RecipientGate(),
			about("asked"), about("asked for the type"), about("wants everything"), about("asked by text message"),
			about("has left"), about("wants nothing"), about("silent"), mandatory, news))
	})
}

// Whoever sends it, with the groups or without.
func TestAMessageKeepsThatItHasToBeAskedFor(t *testing.T) {
	gated(t, offers, func(t *testing.T, h *host) {
		h.prefers(notify.Preference{Scope: "tenant", RecipientRef: "kim", Group: "offers"})
		h.ensure(offer("a", "sam"), offer("b", "kim"))
		h.Register(notify.Type{Name: "offer", Group: "offers", Renderer: visitTemplate})
		job := visit("7", person("sam"), person("kim"))
		job.Scope, job.Type = "tenant", "offer"
		if _, err := h.Notify(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		channels := notify.Extent{Everywhere: true, Channel: channelKey}
		if err := h.Support().Pause(t.Context(), channels, time.Time{}, support); err != nil {
			t.Fatal(err)
		}
		h.drain() // the messages are made, and not sent
		h.same("sent", 0, len(h.sent()))
		if err := h.Support().Resume(t.Context(), channels, support); err != nil {
			t.Fatal(err)
		}
		knowsNone := &host{Notifier: notify.New(h.store, &notify.Options{Logger: quiet}, h.provider), store: h.store, t: t, clk: h.clk, provider: h.provider}
		knowsNone.drain()
		got := map[string]int{}
		for _, m := range all(h, notify.Messages) {
			got[m.RecipientRef+" "+m.Status+" "+m.ReasonCode]++
		}
		h.same("messages", map[string]int{"sam Skipped NoConsent": 2, "kim SentToProvider ": 2}, got)
	})
}

func TestAPreferenceNeedsARecipient(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		err := h.Contacts().SetPreferences(t.Context(), notify.Preference{RecipientRef: "sam"}, notify.Preference{OptedOut: true})
		if err == nil || !strings.Contains(err.Error(), "argument 2: RecipientRef is empty") {
			t.Error(err)
		}
		if n := len(all(h, notify.Preferences)); n != 0 {
			t.Errorf("%d rows", n)
		}
	})
}

var unsubscribe = &notify.UnsubscribeOptions{URL: "https://example.com/u/", Key: []byte("0123456789abcdef0123456789abcdef")}

// unsubscribing has the gates, and links in its messages.
func unsubscribing(store storage.Store) *notify.Options {
	return &notify.Options{Unsubscribe: unsubscribe}
}

// tokens are those of the links that were sent, by the text of the message.
func (h *host) tokens() map[string]string {
	out := map[string]string{}
	for _, m := range h.sent() {
		out[m.Text] = strings.TrimPrefix(m.UnsubscribeURL, unsubscribe.URL)
	}
	return out
}

func TestALinkUnsubscribesFromItsTypeOrFromEverythingThatIsNotMandatory(t *testing.T) {
	gated(t, unsubscribing, func(t *testing.T, h *host) {
		h.Register(notify.Type{Name: "offer"})
		h.Register(notify.Type{Name: "reset", Mandatory: true})
		of := func(kind string) func(*notify.OutgoingMessage) {
			return func(m *notify.OutgoingMessage) { m.NotificationType = kind }
		}
		h.ensure(letter("visit 1", "sam"), letter("reset 1", "sam", of("reset")), letter("nobody", "", func(m *notify.OutgoingMessage) { m.Address = "eve@example.com" }))
		h.drain()
		token := h.tokens()
		if len(token["visit 1"]) < 60 || token["reset 1"] != "" || strings.Contains(token["visit 1"], "sam") || strings.Contains(token["visit 1"], h.row("visit 1").MessageID) {
			t.Fatalf("tokens: %v", token)
		}
		ctx := t.Context()
		for range 2 {
			if err := errors.Join(h.Contacts().CheckUnsubscribe(ctx, token["visit 1"]), h.Contacts().Unsubscribe(ctx, token["visit 1"], notify.LeaveType), h.Contacts().Unsubscribe(ctx, token["nobody"], notify.LeaveAll)); err != nil {
				t.Fatal(err)
			}
		}
		h.ensure(letter("visit 2", "sam"), letter("offer 2", "sam", of("offer")), letter("nobody 2", "", func(m *notify.OutgoingMessage) { m.Address = "eve@example.com" }))
		h.drain()
		h.same("from a type", []string{reasons.OptedOut, "", reasons.OptedOut}, []string{h.row("visit 2").ReasonCode, h.row("offer 2").ReasonCode, h.row("nobody 2").ReasonCode})
		if err := h.Contacts().Unsubscribe(ctx, token["visit 1"], notify.LeaveAll); err != nil {
			t.Fatal(err)
		}
		h.ensure(letter("offer 3", "sam", of("offer")), letter("reset 3", "sam", of("reset")), letter("kim 3", "kim"))
		h.drain()
		h.same("from everything", []string{reasons.OptedOut, "", ""}, []string{h.row("offer 3").ReasonCode, h.row("reset 3").ReasonCode, h.row("kim 3").ReasonCode})
	})
}

func TestAForgedTokenIsNone(t *testing.T) {
	gated(t, unsubscribing, func(t *testing.T, h *host) {
		h.ensure(letter("a", "sam"), letter("b", "kim"))
		h.drain()
		token := h.tokens()
		id, mac, _ := strings.Cut(token["a"], ".")
		otherID, _, _ := strings.Cut(token["b"], ".")
		forged := *unsubscribe
		forged.Key = []byte(strings.Repeat("x", 32))
		for _, bad := range []string{
			"", ".", id, id + ".", "." + mac, otherID + "." + mac, strings.Repeat("0", 32) + "." + mac, id + "." + strings.ToUpper(mac),
			id + "." + forged.Sign(h.row("a")), id + "." + base64.RawURLEncoding.EncodeToString(nil), token["a"] + "x", "\x00." + mac, "\xff." + mac, strings.Repeat("x", 500),
		} {
			if err := h.Contacts().Unsubscribe(t.Context(), bad, notify.LeaveAll); err != notify.ErrUnsubscribeToken { //nolint:errorlint // it tells nothing more
				t.Errorf("%.60q: %v", bad, err)
			}
		}
		if n := len(all(h, notify.Preferences)); n != 0 {
			t.Errorf("%d preferences", n)
		}
		if err := notify.New(h.store, nil).Contacts().CheckUnsubscribe(context.Background(), token["a"]); err == nil {
			t.Error("without options a link is served")
		}
	})
}

// The process that sends has only the channel; another one has made the messages.
func TestWhatWasRequestedIsSoWhoeverSendsIt(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		made := notify.New(h.store, &notify.Options{Logger: quiet})
		made.Register(notify.Type{Name: "reset", Requested: true, Renderer: visitTemplate})
		h.Notifier = made
		job := visit("7", person("sam"))
		job.Type = "reset"
		h.dispatch(job)
		h.ensure(letter("ensured", "sam", func(m *notify.OutgoingMessage) { m.NotificationType = "reset" }))
		h.drain()
		h.prefers(notify.Preference{Scope: "tenant", RecipientRef: "sam", OptedOut: true})
		if err := h.Contacts().Suppress(t.Context(), "tenant", channel.Complaint, support, notify.Destination{"email", "sam@example.com"}); err != nil {
			t.Fatal(err)
		}
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet, Unsubscribe: unsubscribe}, h.provider)
		h.ensure(letter("unknown here", "sam", func(m *notify.OutgoingMessage) { m.NotificationType = "reset" }))
		h.drain()
		sent := h.sent()
		if len(sent) != 2 || sent[0].UnsubscribeURL+sent[1].UnsubscribeURL != "" {
			t.Errorf("sent %+v", sent)
		}
		h.same("not known to be requested", reasons.Suppressed, h.row("unknown here").ReasonCode)
	})
}

var groups = []notify.Group{{Name: "marketing"}, {Name: "reminders"}}

// One click on an offer leaves offers, and no reminder.
func TestOneClickLeavesTheGroup(t *testing.T) {
	gated(t, func(store storage.Store) *notify.Options {
		o := unsubscribing(store)
		o.Groups = groups
		return o
	}, func(t *testing.T, h *host) {
		h.Register(notify.Type{Name: "offer", Group: "marketing"})
		h.Register(notify.Type{Name: "news", Group: "marketing"})
		h.Register(notify.Type{Name: "expiry", Group: "reminders"})
		of := func(kind string) func(*notify.OutgoingMessage) {
			return func(m *notify.OutgoingMessage) { m.NotificationType = kind }
		}
		h.ensure(letter("offer 1", "sam", of("offer")), letter("visit 1", "sam"))
		h.drain()
		token, contacts, ctx := h.tokens(), h.Contacts(), t.Context()
		if err := contacts.Unsubscribe(ctx, token["offer 1"], notify.LeaveGroup); err != nil {
			t.Fatal(err)
		}
		h.ensure(letter("offer 2", "sam", of("offer")), letter("news 2", "sam", of("news")), letter("expiry 2", "sam", of("expiry")), letter("visit 2", "sam"), letter("offer 2 kim", "kim", of("offer")))
		h.drain()
		h.same("after a click on an offer", []string{reasons.OptedOut, reasons.OptedOut, "", "", ""},
			[]string{h.row("offer 2").ReasonCode, h.row("news 2").ReasonCode, h.row("expiry 2").ReasonCode, h.row("visit 2").ReasonCode, h.row("offer 2 kim").ReasonCode})
		if token["visit 1"] != "" {
			t.Error("what has no group carries a link, though there are groups")
		}
		if err := contacts.ChooseGroups(ctx, token["offer 1"], "marketing"); err != nil {
			t.Fatal(err)
		}
		h.ensure(letter("offer 4", "sam", of("offer")), letter("expiry 4", "sam", of("expiry")))
		h.drain()
		h.same("after a choice", []string{"", reasons.OptedOut}, []string{h.row("offer 4").ReasonCode, h.row("expiry 4").ReasonCode})
		if err := contacts.Unsubscribe(ctx, token["offer 1"], "some"); err == nil {
			t.Error("somebody left nothing")
		}
	})
}

// A complaint stops all but what the recipient has just asked for.
func TestAComplaintStopsAllButWhatWasRequested(t *testing.T) {
	gated(t, with(gate.Options{}), func(t *testing.T, h *host) {
		h.Register(notify.Type{Name: "invoice", Mandatory: true})
		h.Register(notify.Type{Name: "reset", Requested: true})
		if err := h.Contacts().Suppress(t.Context(), "tenant", channel.Complaint, support, notify.Destination{Method: "email", Address: "sam@example.com"}); err != nil {
			t.Fatal(err)
		}
		of := func(kind string) func(*notify.OutgoingMessage) {
			return func(m *notify.OutgoingMessage) { m.NotificationType = kind }
		}
		h.ensure(letter("visit", "sam"), letter("invoice", "sam", of("invoice")), letter("reset", "sam", of("reset")))
		h.drain()
		h.same("reasons", []string{reasons.Suppressed, reasons.Suppressed, ""},
			[]string{h.row("visit").ReasonCode, h.row("invoice").ReasonCode, h.row("reset").ReasonCode})
	})
}

func TestATypeOfAnUnknownGroupIsRefused(t *testing.T) {
	t.Parallel()
	for what, make := range map[string]func(){
		"no group \"offers\"": func() {
			notify.New(memory.New(nil), &notify.Options{Groups: groups}).Register(notify.Type{Name: "offer", Group: "offers"})
		},
		"there twice": func() { notify.New(memory.New(nil), &notify.Options{Groups: append(groups, groups...)}) },
	} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.Contains(text, what) {
					t.Errorf("%s, want %s", text, what)
				}
			}()
			make()
		}()
	}
}

// The link is in the texts as well, where their template has it: each message's own.
func TestATemplateHasTheLinkOfItsMessage(t *testing.T) {
	gated(t, unsubscribing, func(t *testing.T, h *host) {
		texts := notify.Template{
			Subject: "s", Text: "{{if .UnsubscribeURL}}out: {{.UnsubscribeURL}} {{.PreferencesURL}}{{else}}no way out{{end}}", HTML: `<a href="{{.UnsubscribeURL}}">out</a>`,
		}
		h.Register(notify.Type{Name: "offer", Renderer: texts})
		h.Register(notify.Type{Name: "bill", Renderer: texts, Mandatory: true})
		sam := person("sam")
		sam.Inbox = "user:sam"
		for _, typ := range []string{"offer", "bill"} {
			j := visit(typ, sam)
			j.Type = typ
			h.dispatch(j)
		}
		h.drain()
		link := ""
		for _, m := range h.sent() {
			if link = cmp.Or(link, m.UnsubscribeURL); m.UnsubscribeURL == "" {
				h.same("of the bill", `no way out<a href="">out</a>`, m.Text+m.HTML)
				continue
			}
			h.same("of the offer", fmt.Sprintf(`out: %[1]s %[1]s<a href="%[1]s">out</a>`, m.UnsubscribeURL), m.Text+m.HTML)
		}
		h.same("messages", 2, len(h.sent()))
		for _, m := range all(h, notify.UserMessages) {
			if strings.Contains(m.Content.Text+m.Content.HTML, "https://") {
				t.Errorf("in the inbox: %q", m.Content.Text)
			}
		}
		if err := h.Contacts().Unsubscribe(t.Context(), strings.TrimPrefix(link, unsubscribe.URL), notify.LeaveType); err != nil {
			t.Error(err)
		}
		j := visit("offer", person("sam"))
		j.Type = "offer"
		shown, err := h.Preview(t.Context(), j, person("sam"))
		if err != nil || !strings.Contains(shown.Text, unsubscribe.URL) || strings.Contains(shown.Text+shown.HTML, "invalid") {
			t.Errorf("%q, %v", shown.Text, err)
		}
	})
}
