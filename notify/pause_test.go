package notify_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage/driver"
)

func (h *host) pause(e notify.Extent) {
	h.t.Helper()
	if err := h.Support().Pause(h.t.Context(), e, time.Time{}, support); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) resume(e notify.Extent) {
	h.t.Helper()
	if err := h.Support().Resume(h.t.Context(), e, support); err != nil {
		h.t.Fatal(err)
	}
}

// crowd makes a message of two types, by two channels, in two scopes each.
func (h *host) crowd() {
	h.t.Helper()
	for _, scope := range []notify.Scope{"north", "south"} {
		for _, kind := range []string{"visit", "offer"} {
			for _, over := range []string{channelKey, "sms:test"} {
				text := string(scope) + " " + kind + " " + channel.Method(over)
				h.ensure(letter(text, "sam", func(m *notify.OutgoingMessage) {
					m.Scope, m.NotificationType, m.Channel = scope, kind, over
					if over != channelKey {
						m.Address = "+4915112345678"
					}
				}))
			}
		}
	}
}

// sms is a second channel of the same provider.
func (h *host) sms() channel.Channel { return channel.Func("sms:test", h.provider.Send) }

func TestAPauseKeepsBackWhatItCoversAndNothingElse(t *testing.T) {
	for name, c := range map[string]struct {
		of   []notify.Extent
		kept func(text string) bool
	}{
		"a type in a scope":    {[]notify.Extent{{Scope: "north", Type: "offer"}}, func(s string) bool { return strings.HasPrefix(s, "north offer") }},
		"a type everywhere":    {[]notify.Extent{{Everywhere: true, Type: "offer"}}, func(s string) bool { return strings.Contains(s, "offer") }},
		"a channel in a scope": {[]notify.Extent{{Scope: "north", Channel: "sms:test"}}, func(s string) bool { return strings.HasPrefix(s, "north") && strings.HasSuffix(s, "sms") }},
		"a channel everywhere": {[]notify.Extent{{Everywhere: true, Channel: "sms:test"}}, func(s string) bool { return strings.HasSuffix(s, "sms") }},
		"a scope":              {[]notify.Extent{{Scope: "south"}}, func(s string) bool { return strings.HasPrefix(s, "south") }},
		"all of it":            {[]notify.Extent{{Everywhere: true}}, func(string) bool { return true }},
		"two of them": {[]notify.Extent{{Scope: "south", Type: "visit"}, {Everywhere: true, Channel: channelKey}}, func(s string) bool {
			return strings.HasPrefix(s, "south visit") || strings.HasSuffix(s, "email")
		}},
		"another's": {[]notify.Extent{{}, {Type: "visit"}, {Scope: "west", Channel: channelKey}, {Everywhere: true, Type: "course"}}, func(string) bool { return false }},
	} {
		t.Run(name, func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet}, h.provider, h.sms())
				h.crowd()
				for _, e := range c.of {
					h.pause(e)
				}
				h.drain()
				kept := 0
				for _, m := range all(h, notify.Messages) {
					want := notify.StatusSentToProvider
					if c.kept(m.Content.Text) {
						kept, want = kept+1, notify.StatusCreated
					}
					if m.Status != want || want == notify.StatusCreated && m.Version != 1 {
						t.Errorf("%s is %s, version %d", m.Content.Text, m.Status, m.Version)
					}
				}
				for _, e := range c.of {
					h.resume(e)
				}
				if n := h.run("notify.distributor"); n != kept || len(h.texts()) != 8 {
					t.Errorf("after the pause %d went out, want %d", n, kept)
				}
			})
		})
	}
}

// What was claimed before the pause, and not called yet, is given back by the gate.
func TestAPauseStopsWhatIsClaimedAndNotCalled(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.ensure(letter("a", "sam"))
		row := h.claim([]string{notify.StatusCreated}, notify.StatusSending)[0]
		if err := h.Support().Pause(t.Context(), notify.Extent{Scope: "tenant", Channel: channelKey}, time.Time{}, support); err != nil {
			t.Fatal(err)
		}
		if err := h.Distribute(t.Context(), notify.Sending{Row: row, Ctx: t.Context(), Lease: lease}); err != nil {
			t.Fatal(err)
		}
		if row.ReasonCode != reasons.Paused || row.Status != notify.StatusRetryReady || len(h.sent()) != 0 {
			t.Errorf("message is %+v", row)
		}
	})
}

// A message that waited for long while its type was paused is revalidated, though
// nobody has written it.
func TestAMessageThatWasPausedForLongIsRevalidated(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		asked := 0
		h.Register(notify.Type{Name: "asked", Renderer: visitTemplate, Revalidator: notify.RevalidatorFunc(func(context.Context, notify.Job) (gate.Verdict, error) {
			asked++
			return gate.Skip("Cancelled"), nil
		})})
		job := visit("7", person("sam"))
		job.Type = "asked"
		h.pause(notify.Extent{Scope: "tenant", Type: "asked"})
		h.dispatch(job)
		h.drain()
		h.clk.Add(15*time.Minute + time.Second)
		h.resume(notify.Extent{Scope: "tenant", Type: "asked"})
		h.drain()
		if m := h.status(notify.StatusSkipped); m.ReasonCode != "Cancelled" || asked != 1 {
			t.Errorf("message is %+v", m)
		}
	})
}

func TestPausesAreListedAuditedAndRefused(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		until := h.clk.Now().Add(time.Hour)
		if err := h.Support().Pause(t.Context(), notify.Extent{Scope: "tenant", Channel: channelKey}, until, support); err != nil {
			t.Fatal(err)
		}
		h.Register(notify.Type{Name: "offer"})
		h.pause(notify.Extent{Everywhere: true, Type: "offer"})
		h.pause(notify.Extent{Scope: "another"})
		got, err := h.Support().Pauses(t.Context(), "tenant")
		if err != nil {
			t.Fatal(err)
		}
		now := driver.Now(h.store)
		h.same("pauses", []notify.Pause{
			{Extent: notify.Extent{Everywhere: true, Type: "offer"}, By: support, Since: now},
			{Extent: notify.Extent{Scope: "tenant", Channel: channelKey}, By: support, Since: now, Until: until},
		}, got)
		h.resume(notify.Extent{Scope: "tenant", Channel: channelKey})
		h.same("audit", []string{"Pause by kim: Resumed to Paused", "Resume by kim: Paused to Resumed"}, h.actions("notification_pause", "channel:"+channelKey))
		ctx, zero := t.Context(), time.Time{}
		for want, err := range map[string]error{
			"a Scope, and Everywhere":  h.Support().Pause(ctx, notify.Extent{Scope: "a", Everywhere: true}, zero, support),
			"a Type, and a Channel":    h.Support().Pause(ctx, notify.Extent{Type: "a", Channel: "b"}, zero, support),
			"scope: text holds a NUL":  h.Support().Pause(ctx, notify.Extent{Scope: "\x00any"}, zero, support),
			"has passed":               h.Support().Pause(ctx, notify.Extent{}, now, support),
			"control character":        h.Support().Pause(ctx, notify.Extent{Type: "a\x1f"}, zero, support),
			"no reason":                h.Support().Pause(ctx, notify.Extent{}, zero, notify.By{Actor: "kim"}),
			"it is not paused":         h.Support().Resume(ctx, notify.Extent{Scope: "tenant", Channel: channelKey}, support),
			"kim has paused it alread": h.Support().Pause(ctx, notify.Extent{Scope: "another"}, zero, support),
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		if _, err := h.Support().Pauses(ctx, "\x00any"); err == nil || !strings.Contains(err.Error(), "scope: text holds a NUL") {
			t.Errorf("pauses of no tenant: %v", err)
		}
	})
}

// quiet drops what a test provokes.
var quiet = slog.New(slog.DiscardHandler)

var workOptions = work.Options{Logger: quiet}
