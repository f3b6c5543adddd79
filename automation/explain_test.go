package automation_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
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
		w.says(certificateKey, "there is no row: nobody asked for it in this scope, or its moment had passed when somebody did")
		if got := w.now("nonsense"); !strings.HasPrefix(got, "there is no row, and there can be none: keys: ") {
			t.Error(got)
		}
		w.ensure(candidate(nil))
		const waits = "it waits until 2026-04-01T09:00:00Z (31 days more); "
		w.says(certificateKey, waits+"no process like this one serves it, since its type is not registered here")
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
		w.says(certificateKey, "nothing, until support releases it")
		w.do(w.s.Support().Release)
		w.poll()
		w.says(certificateKey, "nothing more: delivery work is queued, which does not say that it arrived")
		w.ensure(export("1"))
		w.s.Handle("export", automation.HandlerFunc(func(context.Context, []automation.Due) ([]automation.Outcome, error) { return nil, nil }))
		if got := w.now(exportKey("1")); got != "it is due; its handler is asked then" {
			t.Error(got)
		}
		w.change(exportKey("1"), func(r *automation.Schedule) { automation.EndRow(r, start, automation.Superseded) })
		w.says(exportKey("1"), "nothing, unless it is asked for again")
	})
}

//spec:a-114 n-013
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
			"Release by ann: a call from the school (Failed to Pending)", "now: nothing, until support releases it",
		} {
			if !strings.Contains(e.String(), want) {
				w.t.Errorf("misses %q in:\n%s", want, e)
			}
		}
	})
}
