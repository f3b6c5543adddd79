package automation_test

import (
	"context"
	"strings"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
)

// An answer ends no row of a setting that it does not speak for, unless that
// setting is off.
func TestAnAnswerEndsRowsOfSettingsThatItSpeaksFor(t *testing.T) {
	t.Parallel()
	ofOther := func(c *automation.Candidate) { c.Setting = "other" }
	const key = "reminder:other:employee:7:default:2026-05-01:30"
	asks := map[string]func(w *world){
		"event":   func(w *world) { w.handle(changed(1)) },
		"re-plan": func(w *world) { w.replan(certificatesAgain) },
		"due":     func(w *world) { w.pollAt(day(2026, 4, 1, 9)) },
	}
	for name, c := range map[string]struct {
		speaks []string
		off    bool
		want   map[string]string // by who asks
	}{
		"it speaks for another": {nil, false, map[string]string{"event": "Pending", "re-plan": "Pending", "due": "Completed"}},
		"it speaks for it": {[]string{"other"}, false, map[string]string{
			"event": "Deactivated Superseded", "re-plan": "Deactivated Superseded", "due": "Deactivated Superseded",
		}},
		"the setting is off": {nil, true, map[string]string{
			"event": "Pending", "re-plan": "Deactivated ReminderSettingInactive", "due": "Deactivated ReminderSettingInactive",
		}},
	} {
		for who, ask := range asks {
			t.Run(name+"/"+who, func(t *testing.T) {
				each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
					settings := settingsMap{"certificate": true, "other": true}
					w := newWorld(t, store, clk, &automation.Options{Settings: settings})
					p := w.withTriggers(nil)
					p.settings = c.speaks
					w.ensure(candidate(ofOther))
					settings["other"] = !c.off
					ask(w)
					if got := w.statuses()[key]; got != c.want[who] {
						t.Errorf("%s, want %s", got, c.want[who])
					}
				})
			})
		}
	}
}

// forgetful answers fewer requests than it was asked.
type forgetful struct{}

func (forgetful) EventTypes() []string { return []string{"certificate-changed"} }

func (forgetful) Wanted(context.Context, []automation.Request) ([]automation.Answer, error) {
	return nil, nil
}

func TestAProviderAnswersEveryRequest(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Triggers = forgetful{} }))
		_, err := w.s.HandleEvent(w.ctx, changed(1))
		if err == nil || !strings.Contains(err.Error(), "Triggers of certificate: 0 answers to 1 requests") {
			w.t.Error(err)
		}
	})
}
