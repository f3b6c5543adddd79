package automation

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// "Old" are the open rows of the setting and source of the candidates only.
func TestOnlyRowsOfTheSettingAndSourceAreSuperseded(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(nil)
		other := func(change func(*Candidate)) { w.ensure(candidate(change)) }
		other(func(c *Candidate) { c.Source.ID = "8" })
		other(func(c *Candidate) { c.Source.Type = "contractor" })
		other(func(c *Candidate) { c.Setting = "s2" })
		other(func(c *Candidate) { c.Type, c.TriggerKey = "other", "o" })
		w.ensure(candidate(func(c *Candidate) { c.Scope = "b" }))
		p.set(offsets(date(2026, 6, 1), 30)...)
		if got := w.handle(changed(1)); len(got.Deactivated) != 0 {
			w.t.Errorf("%+v", got)
		}
		p.settings = []string{"s2"} // now the provider speaks for that setting, too
		got := w.handle(changed(2))
		want := []Deactivation{{"reminder:s2:employee:7:default:2026-05-01:30", Superseded}}
		if diff := cmp.Diff(want, got.Deactivated); diff != "" {
			w.t.Error(diff)
		}
	})
}

func TestInvalidationsEndRowsBySettingSourceAndKey(t *testing.T) {
	eachWorld(t, func(w *world) {
		var ask []Invalidation
		w.s.Register(certificates(func(t *ReminderType) {
			t.Invalidations = invalidations(func() []Invalidation { return ask })
		}))
		for _, id := range []string{"1", "2", "3"} {
			w.ensure(candidate(func(c *Candidate) { c.Source.ID = id }), candidate(func(c *Candidate) { c.Source.ID, c.DaysBefore = id, 7 }))
		}
		k := func(id, days string) string {
			return "reminder:certificate:employee:" + id + ":default:2026-05-01:" + days
		}
		ask = []Invalidation{
			{Setting: "certificate", Source: Source{"employee", "1"}},
			{Setting: "certificate", Source: Source{"employee", "2"}, Keys: []string{k("2", "7")}, Reason: "Resigned"},
		}
		w.handle(Event{Type: "left", Source: Source{"employee", "1"}})
		want := map[string]string{
			k("1", "30"): "Deactivated Invalidated", k("1", "7"): "Deactivated Invalidated",
			k("2", "30"): "Pending", k("2", "7"): "Deactivated Resigned", k("3", "30"): "Pending", k("3", "7"): "Pending",
		}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
		ask = []Invalidation{{Setting: "certificate", Reason: ReminderSettingInactive}} // all that is left
		got := w.handle(Event{Type: "left", Source: Source{"reminder-setting", "certificate"}})
		if len(got.Deactivated) != 3 {
			w.t.Errorf("%+v", got)
		}
		ask = []Invalidation{{}}
		if _, err := w.s.HandleEvent(w.ctx, Event{Type: "left", Source: Source{"employee", "1"}}); err == nil || !strings.Contains(err.Error(), "invalidation 0 of certificate: no Setting") {
			w.t.Error(err)
		}
	})
}

type invalidations func() []Invalidation

func (f invalidations) EventTypes() []string { return []string{"left"} }

func (f invalidations) Invalidations(context.Context, Event) ([]Invalidation, error) { return f(), nil }

func TestManyOpenRowsOfASettingAreAllEnded(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *ReminderType) {
			t.Invalidations = invalidations(func() []Invalidation { return []Invalidation{{Setting: "certificate"}} })
		}))
		var many []Candidate
		for n := range 2*deactivatePage + 3 {
			many = append(many, candidate(func(c *Candidate) { c.DaysBefore = -n }))
		}
		w.ensure(many...)
		if got := w.handle(Event{Type: "left", Source: Source{"a", "b"}}); len(got.Deactivated) != len(many) {
			w.t.Errorf("%d of %d", len(got.Deactivated), len(many))
		}
	})
}
