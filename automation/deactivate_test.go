package automation_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
)

// "Old" are the open rows of the setting and source of the candidates only.
//
//spec:a-062
func TestOnlyRowsOfTheSettingAndSourceAreSuperseded(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(nil)
		other := func(change func(*automation.Candidate)) { w.ensure(candidate(change)) }
		other(func(c *automation.Candidate) { c.Source.ID = "8" })
		other(func(c *automation.Candidate) { c.Source.Type = "contractor" })
		other(func(c *automation.Candidate) { c.Setting = "s2" })
		other(func(c *automation.Candidate) { c.Type, c.TriggerKey = "other", "o" })
		w.ensure(candidate(func(c *automation.Candidate) { c.Scope = "b" }))
		p.set(offsets(date(2026, 6, 1), 30)...)
		if got := w.handle(changed(1)); len(got.Deactivated) != 0 {
			w.t.Errorf("%+v", got)
		}
		p.settings = []string{"s2"} // now the provider speaks for that setting, too
		got := w.handle(changed(2))
		want := []automation.Deactivation{{"reminder:s2:employee:7:default:2026-05-01:30", automation.Superseded}}
		if diff := cmp.Diff(want, got.Deactivated); diff != "" {
			w.t.Error(diff)
		}
	})
}

//spec:a-069
func TestInvalidationsEndRowsBySettingSourceAndKey(t *testing.T) {
	eachWorld(t, func(w *world) {
		var ask []automation.Invalidation
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Invalidations = invalidations(func() []automation.Invalidation { return ask })
		}))
		for _, id := range []string{"1", "2", "3"} {
			w.ensure(candidate(func(c *automation.Candidate) { c.Source.ID = id }), candidate(func(c *automation.Candidate) { c.Source.ID, c.DaysBefore = id, 7 }))
		}
		k := func(id, days string) string {
			return "reminder:certificate:employee:" + id + ":default:2026-05-01:" + days
		}
		ask = []automation.Invalidation{
			{Setting: "certificate", Source: automation.Source{"employee", "1"}},
			{Setting: "certificate", Source: automation.Source{"employee", "2"}, Keys: []string{k("2", "7")}, Reason: "Resigned"},
		}
		w.handle(automation.Event{Type: "left", Source: automation.Source{"employee", "1"}})
		want := map[string]string{
			k("1", "30"): "Deactivated Invalidated", k("1", "7"): "Deactivated Invalidated",
			k("2", "30"): "Pending", k("2", "7"): "Deactivated Resigned", k("3", "30"): "Pending", k("3", "7"): "Pending",
		}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
		ask = []automation.Invalidation{{Setting: "certificate", Reason: automation.ReminderSettingInactive}} // all that is left
		got := w.handle(automation.Event{Type: "left", Source: automation.Source{"reminder-setting", "certificate"}})
		if len(got.Deactivated) != 3 {
			w.t.Errorf("%+v", got)
		}
		ask = []automation.Invalidation{{}}
		if _, err := w.s.HandleEvent(w.ctx, automation.Event{Type: "left", Source: automation.Source{"employee", "1"}}); err == nil || !strings.Contains(err.Error(), "invalidation 0 of certificate: no Setting") {
			w.t.Error(err)
		}
	})
}

type invalidations func() []automation.Invalidation

func (f invalidations) EventTypes() []string { return []string{"left"} }

func (f invalidations) Invalidations(context.Context, automation.Event) ([]automation.Invalidation, error) {
	return f(), nil
}

func TestManyOpenRowsOfASettingAreAllEnded(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Invalidations = invalidations(func() []automation.Invalidation { return []automation.Invalidation{{Setting: "certificate"}} })
		}))
		var many []automation.Candidate
		for n := range 2*automation.DeactivatePage + 3 {
			many = append(many, candidate(func(c *automation.Candidate) { c.DaysBefore = -n }))
		}
		w.ensure(many...)
		if got := w.handle(automation.Event{Type: "left", Source: automation.Source{"a", "b"}}); len(got.Deactivated) != len(many) {
			w.t.Errorf("%d of %d", len(got.Deactivated), len(many))
		}
	})
}
