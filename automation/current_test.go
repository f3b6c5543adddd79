package automation_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/causes"
	"github.com/belfry-go/belfry/automation/dst"
	"github.com/belfry-go/belfry/reasons"
)

// knows is a provider that notes what it is asked.
type knows struct {
	*staff
	calls [][]automation.Request
	inTx  int
	fails func(automation.Source) error
	// The version of their setting, and what happens once it was read.
	version    int64
	afterwards func()
	off        bool
}

// Setting is the one setting of certificates.
func (k *knows) Setting(context.Context, automation.Scope, string) (automation.Setting, error) {
	return automation.Setting{Active: !k.off, Version: k.version}, nil
}

func (k *knows) Wanted(ctx context.Context, of []automation.Request) ([]automation.Answer, error) {
	if of[0].Event.Type != "" {
		return k.staff.Wanted(ctx, of)
	}
	k.mu.Lock()
	k.calls = append(k.calls, slices.Clone(of))
	if _, ok := automation.TxOf(ctx); ok {
		k.inTx++
	}
	k.mu.Unlock()
	for _, r := range of {
		if k.fails != nil {
			if err := k.fails(r.Source); err != nil {
				return nil, err
			}
		}
	}
	out, err := k.staff.Wanted(ctx, of)
	if err != nil {
		return nil, err
	}
	for i, r := range of {
		out[i].Version = k.people[r.Source.ID].version
		for n := range out[i].Candidates {
			out[i].Candidates[n].SettingVersion = k.version
		}
	}
	if do := k.afterwards; do != nil {
		k.afterwards = nil
		do()
	}
	return out, nil
}

// withKnowing registers certificates whose provider notes what it is asked.
func (w *world) withKnowing(change func(*automation.ReminderType)) *knows {
	k := &knows{staff: &staff{people: map[string]person{}, offsets: []int{30}, sendAt: "09:00"}, version: 1}
	w.opts.Settings = k
	w.s = automation.New(w.store, w.out, &w.opts)
	w.s.Register(certificates(func(t *automation.ReminderType) {
		t.Triggers = k
		if change != nil {
			change(t)
		}
	}))
	return k
}

// Offsets changed and nobody told of it: the row of the old one goes to nobody, and
// that of the new one exists.
func TestADueRowIsComparedWithWhatItsSourceAsksForNow(t *testing.T) {
	eachWorld(t, func(w *world) {
		k := w.withKnowing(nil)
		w.hire(k.staff, 3)
		for _, id := range []string{"000", "001", "002"} {
			w.hear(k.staff, id)
		}
		k.offsets = []int{14}
		k.set("001", person{gone: true, version: 2})
		w.pollAt(day(2026, 4, 1, 9))
		want := map[string]string{
			keyOf("000", "2026-05-01", 30): "Deactivated InputChanged", keyOf("000", "2026-05-01", 14): "Pending",
			keyOf("001", "2026-05-01", 30): "Deactivated Superseded",
			keyOf("002", "2026-05-01", 30): "Deactivated InputChanged", keyOf("002", "2026-05-01", 14): "Pending",
		}
		if diff := cmp.Diff(want, w.statuses()); diff != "" || len(w.out.dispatched()) != 0 {
			w.t.Error(diff, w.out.dispatched())
		}
		if len(k.calls) != 1 || len(k.calls[0]) != 3 {
			w.t.Errorf("asked %d times: %v", len(k.calls), k.calls)
		}
		w.pollAt(day(2026, 4, 17, 9))
		if diff := cmp.Diff([]string{keyOf("000", "2026-05-01", 14), keyOf("002", "2026-05-01", 14)}, w.out.dispatched()); diff != "" {
			w.t.Error(diff)
		}
	})
}

func TestADueRowWhoseMomentHasMovedWaitsForIt(t *testing.T) {
	eachWorld(t, func(w *world) {
		k := w.withKnowing(nil)
		w.hire(k.staff, 1)
		w.hear(k.staff, "000")
		k.sendAt = "17:30"
		w.pollAt(day(2026, 4, 1, 9))
		row := w.row(keyOf("000", "2026-05-01", 30))
		if row.Status != automation.StatusPending || row.SendAt != "17:30" || !row.DueOn.Equal(day(2026, 4, 1, 17).Add(30*60e9)) || row.RetryCount != 0 {
			w.t.Errorf("%+v", row)
		}
		if got := w.pollAt(day(2026, 4, 1, 12)); got.Claimed != 0 {
			w.t.Errorf("%+v", got)
		}
		w.pollAt(day(2026, 4, 1, 18))
		if got := w.statuses()[keyOf("000", "2026-05-01", 30)]; got != "Completed" {
			w.t.Error(got)
		}
	})
}

// A look-up that fails is a failed try of its own rows, like other code of the host.
func TestASourceThatCannotBeAskedAboutFailsItsOwnRow(t *testing.T) {
	eachWorld(t, func(w *world) {
		k := w.withKnowing(nil)
		w.hire(k.staff, 2)
		w.hear(k.staff, "000")
		w.hear(k.staff, "001")
		k.fails = func(s automation.Source) error {
			if s.ID == "000" {
				return errBoom
			}
			return nil
		}
		w.pollAt(day(2026, 4, 1, 9))
		row := w.row(keyOf("000", "2026-05-01", 30))
		if row.Status != automation.StatusPending || row.RetryCount != 1 || row.ReasonCode != reasons.HandlerFailed {
			w.t.Errorf("%+v", row)
		}
		if got := w.statuses()[keyOf("001", "2026-05-01", 30)]; got != "Completed" {
			w.t.Error(got)
		}
	})
}

// What support had done once more is its own decision.
func TestARerunIsNotComparedWithItsSource(t *testing.T) {
	eachWorld(t, func(w *world) {
		k := w.withKnowing(nil)
		w.hire(k.staff, 1)
		w.hear(k.staff, "000")
		w.pollAt(day(2026, 4, 1, 9))
		if _, err := w.s.Support().Rerun(w.ctx, "", keyOf("000", "2026-05-01", 30), ann); err != nil {
			w.t.Fatal(err)
		}
		k.offsets = []int{14}
		w.pollAt(day(2026, 4, 1, 10))
		if got := w.out.dispatched(); len(got) != 2 {
			w.t.Error(got)
		}
	})
}

// An answer that is older than what an event has shown ensures nothing.
func TestAnOldAnswerAboutASourceUndoesNoEvent(t *testing.T) {
	eachWorld(t, func(w *world) {
		k := w.withKnowing(nil)
		k.set("000", person{expires: date(2026, 5, 1), version: 2})
		w.hear(k.staff, "000")
		k.offsets = []int{14}
		k.set("000", person{expires: date(2026, 5, 1), version: 1})
		w.pollAt(day(2026, 4, 1, 9))
		want := map[string]string{keyOf("000", "2026-05-01", 30): "Deactivated InputChanged"}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
	})
}

// The setting changes between the answer and the transaction that writes it.
func TestAnAnswerThatWasMadeWithAnOlderSettingUndoesNoNewerOne(t *testing.T) {
	newest := func(k *knows) {
		k.offsets, k.version = []int{14}, 2
		k.afterwards = func() { k.offsets, k.version = []int{21}, 3 }
	}
	t.Run("re-plan", func(t *testing.T) {
		eachWorld(t, func(w *world) {
			k := w.withKnowing(nil)
			w.hire(k.staff, 1)
			w.hear(k.staff, "000")
			newest(k)
			w.replan(certificatesAgain)
			want := map[string]string{keyOf("000", "2026-05-01", 30): "Deactivated Superseded", keyOf("000", "2026-05-01", 21): "Pending"}
			if diff := cmp.Diff(want, w.statuses()); diff != "" || k.inTx != 1 {
				w.t.Error(diff, k.inTx)
			}
		})
	})
	t.Run("due", func(t *testing.T) {
		eachWorld(t, func(w *world) {
			k := w.withKnowing(nil)
			w.hire(k.staff, 1)
			w.hear(k.staff, "000")
			newest(k)
			w.pollAt(day(2026, 4, 1, 9))
			want := map[string]string{keyOf("000", "2026-05-01", 30): "Deactivated InputChanged"}
			if diff := cmp.Diff(want, w.statuses()); diff != "" {
				w.t.Error(diff)
			}
		})
	})
}

func TestAPreviewOfASourceSaysWhatBecomesOfEachCandidate(t *testing.T) {
	eachWorld(t, func(w *world) {
		k := w.withKnowing(func(t *automation.ReminderType) { t.Gap, t.Zone = dst.GapSkip, "Europe/Dublin" })
		w.hire(k.staff, 1)
		w.hear(k.staff, "000")
		k.offsets, k.sendAt = []int{14, 30, 90, 33}, "01:30" // 29 March has no 01:30
		before := w.everything()
		got, err := w.s.PreviewSource(w.ctx, "", "certificate", automation.Source{"employee", "000"})
		if err != nil {
			w.t.Fatal(err)
		}
		found := map[string]causes.Cause{}
		for _, f := range got {
			found[f.Key] = f.Cause
		}
		want := map[string]causes.Cause{
			keyOf("000", "2026-05-01", 14): causes.NotAskedYet, keyOf("000", "2026-05-01", 30): causes.Exists,
			keyOf("000", "2026-05-01", 90): causes.OffsetPassed, keyOf("000", "2026-05-01", 33): causes.TimeSkipped,
		}
		if diff := cmp.Diff(want, found); diff != "" {
			w.t.Error(diff)
		}
		if last := got[len(got)-1]; !last.ScheduledOn.Equal(day(2026, 4, 17, 0).Add(30 * 60e9)) {
			w.t.Errorf("%+v", last)
		}
		k.off = true
		got, err = w.s.PreviewSource(w.ctx, "", "certificate", automation.Source{"employee", "000"})
		if err != nil || got[len(got)-1].Cause != causes.SettingInactive {
			w.t.Errorf("%+v %v", got, err)
		}
		k.fails = func(automation.Source) error { return errBoom }
		if _, err = w.s.PreviewSource(w.ctx, "", "certificate", automation.Source{"employee", "000"}); !errors.Is(err, errBoom) {
			w.t.Error(err)
		}
		if _, err = w.s.PreviewSource(w.ctx, "", "nothing", automation.Source{"employee", "000"}); err == nil {
			w.t.Error("of a type that is not registered")
		}
		if diff := cmp.Diff(before, w.everything()); diff != "" {
			w.t.Error(diff)
		}
	})
}
