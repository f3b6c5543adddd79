package automation_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/causes"
	"github.com/belfry-go/belfry/automation/dst"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// now is the last line of an explanation.
func (w *world) now(key string) string {
	w.t.Helper()
	e, err := w.s.Explain(w.ctx, "", key)
	if err != nil {
		w.t.Fatal(err)
	}
	return e.Now
}

func (w *world) says(key, want string) {
	w.t.Helper()
	if got := w.now(key); got != want {
		w.t.Errorf("now: %s\nwant: %s", got, want)
	}
}

func TestExplainSaysWhatWouldHappenNow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		settings, valid, fail := settingsMap{"certificate": true}, true, error(nil)
		w := newWorld(t, store, clk, &automation.Options{Settings: settings})
		w.says(certificateKey, "there is no row: it was not requested in this tenant, or its time had passed when it was")
		if got := w.now("nonsense"); !strings.HasPrefix(got, "there is no row, and there can be none: keys: ") {
			t.Error(got)
		}
		w.ensure(candidate(nil))
		const waits = "it waits until 2026-04-01T09:00:00Z (in 31 days); "
		w.says(certificateKey, waits+"this process cannot run it, since its type is not registered here")
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Validator = automation.ValidatorFunc(func(context.Context, automation.Due) (automation.Validity, error) { return validIf(valid), nil })
			t.Recipients = automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
				return []notify.Recipient{sam}, fail
			})
		}))
		w.says(certificateKey, waits+"as things are, delivery would be queued (recipients: 1)")
		settings["certificate"] = false
		w.says(certificateKey, waits+"as things are, it would end as Deactivated, ReminderSettingInactive")
		settings["certificate"], valid = true, false
		w.says(certificateKey, waits+"as things are, it would end as Deactivated, SourceNoLongerValid")
		valid, fail = true, errBoom
		w.says(certificateKey, waits+`as things are, the step "recipients" would fail: boom`)
		if row := w.row(certificateKey); row.Version != 1 || len(w.out.dispatched()) != 0 {
			t.Errorf("Explain wrote something: %+v", row)
		}
		fail = nil
		clk.Set(day(2026, 4, 1, 9))
		w.says(certificateKey, "it is due; as things are, delivery would be queued (recipients: 1)")
		w.claim(time.Minute)
		w.says(certificateKey, "a worker has it")
		clk.Add(time.Minute)
		w.says(certificateKey, "its worker is gone: the next poll counts a lost lease and puts it back")
		w.do(w.s.Support().Hold)
		w.says(certificateKey, "nothing: it is on hold (HeldBySupport) until support releases it")
		w.do(w.s.Support().Release)
		w.poll()
		w.says(certificateKey, "nothing more: delivery work is queued, which does not mean that it arrived")
		w.ensure(export("1"))
		w.s.Handle(automation.WorkType{Name: "export", Handler: automation.HandlerFunc(func(context.Context, []automation.Due) ([]automation.Outcome, error) { return nil, nil })})
		if got := w.now(exportKey("1")); got != "it is due; its handler decides then" {
			t.Error(got)
		}
		w.change(exportKey("1"), func(r *automation.ScheduleRow) { automation.EndRow(r, start, reasons.Superseded) })
		w.says(exportKey("1"), "nothing, unless it is asked for again")
	})
}

func TestExplainTellsTheWholeStory(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(func(t *automation.ReminderType) { t.Recipients = failing(errBoom) })
		p.set(offsets(date(2026, 5, 1), 30)...)
		w.handle(changed(1))
		w.clk.Set(day(2026, 4, 1, 9))
		w.waits(certificateKey)
		w.do(w.s.Support().Release)
		w.do(w.s.Support().Hold)
		e, err := w.s.Explain(w.ctx, "", certificateKey)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, want := range []string{
			"certificate for employee 7, 30 days before 2026-05-01, at 09:00 UTC: 2026-04-01T09:00:00Z",
			"2026-03-01T08:00:00Z: Created by event certificate-changed e1",
			"2026-04-01T09:00:00Z: TryFailed by due pass: HandlerFailed, again at 2026-04-01T09:05",
			"TryFailed by due pass: HandlerFailed, on hold: RetriesExhausted (Processing to Failed)",
			"Pending (HandlerFailed)", "last error: boom", "on hold (HeldBySupport): a call from the school",
			"Release by ann: a call from the school (Failed to Pending)", "now: nothing: it is on hold (HeldBySupport) until support releases it",
		} {
			if !strings.Contains(e.String(), want) {
				w.t.Errorf("misses %q in:\n%s", want, e)
			}
		}
	})
}

var seven = automation.Source{"employee", "7"}

func (w *world) missing(setting string) automation.Absence {
	w.t.Helper()
	a, err := w.s.ExplainMissing(w.ctx, "", setting, seven)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func (w *world) because(setting string, want causes.Cause, details ...string) {
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
func TestEachCauseOfAnAbsence(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		spy, calls := storetest.Counting(store)
		settings, to := settingsMap{"certificate": true, "special": true}, []notify.Recipient{sam}
		w := newWorld(t, spy, clk, &automation.Options{Settings: settings})
		w.because("certificate", causes.NoSuchType, "no event of the source was ever handled")
		p := w.withTriggers(func(t *automation.ReminderType) {
			t.Gap = dst.GapSkip
			t.Recipients = automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) { return to, nil })
		})
		w.s.Register(visits())
		w.s.Handle(automation.WorkType{Name: "export", Handler: automation.HandlerFunc(func(context.Context, []automation.Due) ([]automation.Outcome, error) { return nil, nil })})
		w.because("visit", causes.NoProvider)
		w.because("export", causes.NoProvider, "the host's own")
		w.because("special", causes.NoSuchType)
		p.settings = []string{"special"}
		w.because("special", causes.ProviderGaveNone)
		w.because("certificate", causes.ProviderGaveNone)
		settings["certificate"] = false
		w.because("certificate", causes.SettingInactive)
		settings["certificate"] = true
		p.err = errBoom
		w.because("certificate", causes.ProviderFailed, "boom")
		p.err = nil

		p.set(offsets(date(2026, 5, 1), 30)...)
		p.candidates[0].Zone = "Europe/Atlantis"
		w.because("certificate", causes.ZoneUnknown, "Europe/Atlantis")
		p.candidates[0].Zone, p.candidates[0].TriggerKey = "", "a:b"
		w.because("certificate", causes.CandidateRefused, "triggerKey")
		p.set(append(offsets(date(2026, 5, 1), 30, 90), automation.Candidate{Setting: "special", TargetDate: date(2026, 5, 1)})...)
		w.because("certificate", causes.NotAskedYet, certificateKey+": no event has asked for it yet (NotAskedYet), for 2026-04-01T09:00:00Z", ":90: its moment had passed (OffsetPassed)")
		to = nil
		w.because("certificate", causes.NoRecipients)
		to = []notify.Recipient{sam}
		p.set(offsets(date(2026, 5, 1), 90)...)
		w.because("certificate", causes.OffsetPassed, "for 2026-01-31T09:00:00Z")
		p.set(automation.Candidate{TargetDate: date(2026, 3, 29), SendAt: "01:30", Zone: "Europe/London"})
		w.because("certificate", causes.TimeSkipped)

		for _, c := range calls.Take() {
			if c.Verb != storetest.Select && c.Verb != storetest.Get {
				t.Errorf("ExplainMissing did %+v", c)
			}
		}
		p.set(offsets(date(2026, 5, 1), 30)...)
		w.handle(changed(1))
		w.because("certificate", causes.Exists, certificateKey+": it exists (Exists), Pending", "last event of the source: certificate-changed e1")
		w.do(w.s.Support().Hold)
		w.because("certificate", causes.Exists, "it exists (Exists), Pending, HeldBySupport")
		w.do(w.s.Support().Release)
		w.pollAt(day(2026, 4, 1, 9))
		w.because("certificate", causes.Ended, "it has ended (Ended), Completed")
	})
}

// Providers see a source, and no event.
func TestExplainMissingAsksWithoutAnEvent(t *testing.T) {
	eachWorld(t, func(w *world) {
		var asked []automation.Request
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Triggers = asking(func(of []automation.Request) { asked = append(asked, of...) })
		}))
		if _, err := w.s.ExplainMissing(w.ctx, "north", "certificate", seven); err != nil {
			w.t.Error(err)
		}
		want := []automation.Request{{Scope: "north", Source: seven}}
		if diff := cmp.Diff(want, asked); diff != "" {
			w.t.Error(diff)
		}
	})
}

type asking func([]automation.Request)

func (asking) EventTypes() []string { return nil }

func (f asking) Wanted(_ context.Context, of []automation.Request) ([]automation.Answer, error) {
	f(of)
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
		if err != nil || e.Job.Messages != 1 || !strings.Contains(e.String(), "by setting cert-30") || !strings.Contains(e.String(), "messages: 1") {
			w.t.Error(err, e)
		}
	})
}

// A template that cannot be filled in is told with its error.
func TestExplainSaysWhyNoMessageCouldBeRendered(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Template = notify.Template{Subject: "{{.Sorce.ID}}"} }))
		w.ensure(candidate(nil))
		w.clk.Set(day(2026, 4, 1, 9))
		for _, pass := range append(w.s.Passes(), w.out.Passes()...) {
			w.drain(pass)
		}
		e, err := w.s.Explain(w.ctx, "", certificateKey)
		w.must(err)
		if said := e.String(); !strings.Contains(said, "its messages could not be rendered: ") || !strings.Contains(said, "\"Sorce\"") {
			w.t.Error(said)
		}
	})
}

// explained says how many statements it takes to explain a row to which support
// did so many things, and how many of them are told.
func explained(t *testing.T, actions int) (statements, told int) {
	clk := clock.NewMock()
	clk.Set(start)
	store, calls := storetest.Counting(memory.New(&memory.Options{Clock: clk}))
	w := newWorld(t, store, clk, nil)
	w.s.Register(certificates(nil))
	w.ensure(candidate(nil))
	for n := range actions {
		act := w.s.Support().Hold
		if n%2 == 1 {
			act = w.s.Support().Release
		}
		if err := act(w.ctx, "", certificateKey, ann); err != nil {
			t.Fatal(err)
		}
	}
	calls.Take()
	e, err := w.s.Explain(w.ctx, "", certificateKey)
	if err != nil {
		t.Fatal(err)
	}
	return calls.Count(), len(e.History)
}

// A row that people fought over for years is explained as quickly as
// any other, by the last things that happened to it.
func TestExplainIsBoundedHoweverLongTheStory(t *testing.T) {
	t.Parallel()
	short, _ := explained(t, 2)
	long, told := explained(t, 400)
	if long > short || long > 7 {
		t.Errorf("%d statements, and %d for a short story", long, short)
	}
	if told > automation.MaxHistory+2 {
		t.Errorf("%d things are told", told)
	}
}
