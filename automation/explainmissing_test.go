package automation_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

var seven = automation.Source{"employee", "7"}

func (w *world) missing(setting string) automation.Absence {
	w.t.Helper()
	a, err := w.s.ExplainMissing(w.ctx, "", setting, seven)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func (w *world) because(setting string, want automation.Cause, details ...string) {
	w.t.Helper()
	a := w.missing(setting)
	if a.Cause != want {
		w.t.Errorf("%s, want %s", a, want)
	}
	for _, detail := range details {
		if !strings.Contains(a.String(), detail) {
			w.t.Errorf("misses %q in:\n%s", detail, a)
		}
	}
}

// One story goes through all that can keep a row from existing.
//
//spec:a-115
func TestEachCauseOfAnAbsence(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		spy, calls := storetest.Counting(store)
		settings, to := settingsMap{"certificate": true, "special": true}, []notify.Recipient{sam}
		w := newWorld(t, spy, clk, &automation.Options{Settings: settings})
		w.because("certificate", automation.CauseNoSuchType, "no event of the source was ever handled")
		p := w.withTriggers(func(t *automation.ReminderType) {
			t.Gap = automation.GapSkip
			t.Recipients = automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) { return to, nil })
		})
		w.s.Register(visits())
		w.s.Handle("export", automation.HandlerFunc(func(context.Context, []automation.Due) ([]automation.Outcome, error) { return nil, nil }))
		w.because("visit", automation.CauseNoProvider)
		w.because("export", automation.CauseNoProvider, "the host's own")
		w.because("special", automation.CauseNoSuchType)
		p.settings = []string{"special"}
		w.because("special", automation.CauseProviderGaveNone)
		w.because("certificate", automation.CauseProviderGaveNone)
		settings["certificate"] = false
		w.because("certificate", automation.CauseSettingOff)
		settings["certificate"] = true
		p.err = errBoom
		w.because("certificate", automation.CauseProviderFailed, "boom")
		p.err = nil

		p.set(offsets(date(2026, 5, 1), 30)...)
		p.candidates[0].Zone = "Europe/Atlantis"
		w.because("certificate", automation.CauseZoneUnknown, "Europe/Atlantis")
		p.candidates[0].Zone, p.candidates[0].TriggerKey = "", "a:b"
		w.because("certificate", automation.CauseCandidateRefused, "triggerKey")
		p.set(append(offsets(date(2026, 5, 1), 30, 90), automation.Candidate{Setting: "special", TargetDate: date(2026, 5, 1)})...)
		w.because("certificate", automation.CauseNotAskedYet, certificateKey+": NotAskedYet, for 2026-04-01T09:00:00Z", ":90: OffsetPassed")
		to = nil
		w.because("certificate", automation.CauseNoRecipients)
		to = []notify.Recipient{sam}
		p.set(offsets(date(2026, 5, 1), 90)...)
		w.because("certificate", automation.CauseOffsetPassed, "for 2026-01-31T09:00:00Z")
		p.set(automation.Candidate{TargetDate: date(2026, 3, 29), SendAt: "01:30", Zone: "Europe/London"})
		w.because("certificate", automation.CauseTimeSkipped)

		for _, c := range calls.Take() {
			if c.Verb != storetest.Select && c.Verb != storetest.Get {
				t.Errorf("ExplainMissing did %+v", c)
			}
		}
		p.set(offsets(date(2026, 5, 1), 30)...)
		w.handle(changed(1))
		w.because("certificate", automation.CauseExists, certificateKey+": Exists, Pending", "last event of the source: certificate-changed e1")
		w.do(w.s.Support().Hold)
		w.because("certificate", automation.CauseExists, "Exists, Pending, HeldBySupport")
		w.do(w.s.Support().Release)
		w.pollAt(day(2026, 4, 1, 9))
		w.because("certificate", automation.CauseEnded, "Ended, Completed")
	})
}

// Providers see the event that is documented.
func TestExplainMissingAsksWithItsOwnEvent(t *testing.T) {
	eachWorld(t, func(w *world) {
		var asked []automation.Event
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Triggers = asking(func(e automation.Event) { asked = append(asked, e) })
		}))
		if _, err := w.s.ExplainMissing(w.ctx, "north", "certificate", seven); err != nil {
			w.t.Error(err)
		}
		want := []automation.Event{{Scope: "north", Type: "belfry.explain", Source: seven}}
		if diff := cmp.Diff(want, asked); diff != "" {
			w.t.Error(diff)
		}
	})
}

type asking func(automation.Event)

func (asking) EventTypes() []string { return nil }

func (f asking) Candidates(_ context.Context, e automation.Event) ([]automation.Candidate, error) {
	f(e)
	panic("no candidates")
}

func TestExplainMissingNeedsATenantASettingAndASource(t *testing.T) {
	eachWorld(t, func(w *world) {
		explain := func(scope automation.Scope, setting string, source automation.Source) error {
			_, err := w.s.ExplainMissing(w.ctx, scope, setting, source)
			return err
		}
		for want, err := range map[string]error{
			"scope: text holds a NUL": explain("\x00any", "certificate", seven),
			"no setting":              explain("", "", seven),
			"Source: keys":            explain("", "certificate", automation.Source{"employee", ""}),
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				w.t.Errorf("%v, want %q", err, want)
			}
		}
	})
}

func TestExplainSaysThatARowIsPausedAndWhatItLedTo(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(candidate(func(c *automation.Candidate) { c.Setting = "cert-30" }))
		cert30 := strings.Replace(certificateKey, ":certificate:", ":cert-30:", 1)
		w.pause(automation.Extent{Everywhere: true, Type: "certificate"}, time.Time{})
		w.pause(automation.Extent{Type: "visit"}, time.Time{})
		w.clk.Set(day(2026, 4, 1, 9))
		w.pause(automation.Extent{}, day(2026, 4, 2, 9))
		w.says(cert30, "it is due; paused by ann since 2026-03-01T08:00:00Z: a call from the school"+
			"; paused by ann since 2026-04-01T09:00:00Z until 2026-04-02T09:00:00Z: a call from the school"+
			"; as things are, delivery would be queued (recipients: 1)")
		w.resume(automation.Extent{})
		w.resume(automation.Extent{Everywhere: true, Type: "certificate"})
		for _, pass := range append(w.s.Passes(), w.out.Passes()...) {
			w.drain(pass)
		}
		e, err := w.s.Explain(w.ctx, "", cert30)
		if err != nil || e.Messages != 1 || !strings.Contains(e.String(), "by setting cert-30") || !strings.Contains(e.String(), "messages: 1") {
			w.t.Error(err, e)
		}
	})
}
