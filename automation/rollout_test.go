package automation_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage/memory"
)

// A row in shadow is never due, whatever happens, and nothing of the guard is
// taken for it.
func TestARowInShadowIsNeverDue(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.guardCertificates(nil)
		w.to(certificatesPart, cutover.StageShadow)
		for range 2 {
			w.ensure(candidate(nil))
			w.is(certificateKey, "Deactivated Shadow")
			w.owned(certificateKey, cutover.OldScheduler, cutover.Owned)
		}
		version := w.row(certificateKey).Version
		w.pollAt(whenDue.Add(48 * time.Hour))
		w.ensure(candidate(func(c *automation.Candidate) { c.SendAt = "10:00" }))
		row := w.row(certificateKey)
		if !row.DueOn.IsZero() || !row.ScheduledOn.Equal(whenDue.Add(time.Hour)) || version != 1 || len(w.out.dispatched()) != 0 {
			w.t.Errorf("version %d, %+v", version, row)
		}
		if story, _ := w.s.Explain(w.ctx, "", certificateKey); !strings.Contains(story.Now, "old scheduler") {
			w.t.Error(story.Now)
		}
	})
}

// Support retries a row in shadow: it goes back there, and the run stays where
// it was.
func TestI22_ARetriedShadowDoesNotAcquire(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.guardCertificates(nil)
		w.to(certificatesPart, cutover.StageShadow)
		w.ensure(candidate(nil))
		w.clk.Set(whenDue)
		w.do(w.s.Support().Retry)
		w.poll()
		w.is(certificateKey, "Deactivated Shadow")
		w.owned(certificateKey, cutover.OldScheduler, cutover.Owned)
		if len(w.out.dispatched()) != 0 || !w.old(certificateKey, "") {
			w.t.Error(w.out.dispatched())
		}
	})
}

// A row that was due before its type came under the guard goes into shadow when
// it is looked at.
func TestARowFromBeforeTheGuardGoesIntoShadow(t *testing.T) {
	eachWorld(t, func(w *world) {
		before := automation.New(w.store, w.out, &w.opts)
		before.Register(certificates(nil))
		if _, err := before.Ensure(w.ctx, candidate(nil)); err != nil {
			w.t.Fatal(err)
		}
		w.s = automation.New(w.store, &recorder{Notifier: notify.New(w.store, nil)}, &w.opts)
		w.guardCertificates(nil)
		w.pollAt(whenDue)
		w.is(certificateKey, "Deactivated Shadow")
		w.owned(certificateKey, cutover.OldScheduler, cutover.Owned)
	})
}

// Events go on ending what the source does not ask for any more, so that a
// cut-over brings nothing back that is not wanted.
func TestEventsEndRowsInShadow(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := &triggers{}
		w.guardCertificates(func(t *automation.ReminderType) { t.Triggers = p })
		p.set(offsets(date(2026, 5, 1), 30, 7)...)
		w.handle(changed(1))
		p.set(offsets(date(2026, 5, 1), 7)...)
		got := w.handle(changed(2))
		if diff := cmp.Diff([]automation.Deactivation{{certificateKey, reasons.Superseded}}, got.Deactivated); diff != "" {
			w.t.Error(diff)
		}
		w.is(certificateKey, "Deactivated Superseded")
		w.to(certificatesPart, cutover.StageScheduled)
		w.is(certificateKey, "Deactivated Superseded")
		w.is(key("2026-05-01", "7"), "Pending Shadow")
		p.set(offsets(date(2026, 5, 1), 30, 7)...)
		w.handle(changed(3))
		w.is(certificateKey, "Pending Superseded")
	})
}

// The whole way: shadow, run now, scheduled, cut-over, and back.
func TestAPartMovesForthAndBack(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.guardCertificates(nil)
		w.ensure(candidate(nil), of("", "certificate", 1))
		other := "reminder:certificate:employee:7:1:2026-05-01:30"
		for _, stage := range []cutover.Stage{cutover.StageShadow, cutover.StageRunNow} {
			if got := w.to(certificatesPart, stage); got.Taken+got.Returned+got.Left != 0 {
				w.t.Errorf("%s: %+v", stage, got)
			}
			w.owned(certificateKey, cutover.OldScheduler, cutover.Owned)
		}
		if err := w.s.Rollout().TransferOwnership(w.ctx, "", other, cutover.AutomationScheduler, ann); err != nil {
			w.t.Fatal(err)
		}
		w.is(other, "Pending Shadow")
		want := cutover.Move{
			Part: certificatesPart, From: cutover.StageRunNow, To: cutover.StageScheduled, DryRun: true, Taken: 1,
			Runs: []cutover.MovedRun{{Key: certificateKey, Owner: cutover.AutomationScheduler, ScheduledOn: whenDue}},
		}
		dry, err := w.s.Rollout().MoveRollout(w.ctx, certificatesPart, cutover.StageScheduled, ann, &automation.ActionOptions{DryRun: true})
		if diff := cmp.Diff(want, dry); diff != "" || err != nil {
			w.t.Error(diff, err)
		}
		w.owned(certificateKey, cutover.OldScheduler, cutover.Owned)
		want.DryRun = false
		if diff := cmp.Diff(want, w.to(certificatesPart, cutover.StageScheduled)); diff != "" {
			w.t.Error(diff)
		}
		w.is(certificateKey, "Pending Shadow")
		w.to(certificatesPart, cutover.StageCutOver)
		w.clk.Set(whenDue)
		if got := w.to(certificatesPart, cutover.StageShadow); got.Returned != 2 || !got.Runs[0].Overdue || got.Runs[0].Owner != cutover.OldScheduler {
			w.t.Errorf("%+v", got)
		}
		for _, key := range []string{certificateKey, other} {
			w.is(key, "Deactivated Shadow")
			if !w.old(key, "") {
				w.t.Error("the old scheduler was refused what was returned to it")
			}
		}
		w.poll()
		if got := w.out.dispatched(); len(got) != 0 {
			w.t.Error(got)
		}
		list, err := w.s.Rollout().Rollouts(w.ctx, "")
		if err != nil || len(list) != 1 || list[0].Stage != cutover.StageShadow || list[0].Moving || list[0].By != ann {
			w.t.Errorf("%+v %v", list, err)
		}
	})
}

// What has come stays with the old scheduler: it may have it in hand.
func TestAMoveForwardLeavesWhatHasCome(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.guardCertificates(nil)
		w.ensure(candidate(nil))
		w.clk.Set(whenDue)
		got := w.to(certificatesPart, cutover.StageScheduled)
		if got.Left != 1 || got.Taken != 0 || !got.Runs[0].Left || !got.Runs[0].Overdue {
			w.t.Errorf("%+v", got)
		}
		w.ensure(candidate(nil))
		w.is(certificateKey, "Deactivated Shadow")
		if !w.old(certificateKey, "") {
			w.t.Error("refused")
		}
	})
}

// A worker has the row while the part goes back: what it decides is dropped.
func TestI22_AMoveBackTakesTheRowFromItsWorker(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.guardCertificates(func(t *automation.ReminderType) {
			t.Recipients = automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
				w.to(certificatesPart, cutover.StageShadow)
				return []notify.Recipient{sam}, nil
			})
		})
		w.to(certificatesPart, cutover.StageScheduled)
		w.ensure(candidate(nil))
		w.clk.Set(whenDue)
		w.poll()
		w.is(certificateKey, "Deactivated Shadow")
		if len(w.out.dispatched()) != 0 || !w.old(certificateKey, "") {
			w.t.Error(w.out.dispatched(), w.owner(certificateKey))
		}
	})
}

// The narrowest part counts: two people stay behind, their unit goes ahead.
func TestTheNarrowestPartCounts(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.guardCertificates(nil)
		slow := cutover.Part{Type: "certificate", Source: "8"}
		dublin := cutover.Part{Type: "certificate", BusinessUnit: "dublin"}
		person := cutover.Part{Type: "certificate", Source: "9"}
		w.to(slow, cutover.StageShadow)
		w.to(dublin, cutover.StageScheduled)
		w.to(person, cutover.StageRunNow)
		made := w.ensure(
			candidate(nil),
			candidate(func(c *automation.Candidate) { c.Source.ID, c.BusinessUnit = "8", "dublin" }),
			candidate(func(c *automation.Candidate) { c.TriggerKey, c.BusinessUnit = "unit", "dublin" }),
			candidate(func(c *automation.Candidate) { c.Source.ID, c.BusinessUnit = "9", "dublin" }),
		)
		check := func(want ...string) {
			w.t.Helper()
			for i, status := range want {
				w.is(made[i].Key, status)
			}
		}
		check("Deactivated Shadow", "Deactivated Shadow", "Pending", "Deactivated Shadow")
		w.to(certificatesPart, cutover.StageCutOver)
		check("Pending Shadow", "Deactivated Shadow", "Pending", "Deactivated Shadow")
		w.to(certificatesPart, cutover.StageDesign)
		check("Deactivated Shadow", "Deactivated Shadow", "Pending", "Deactivated Shadow")
	})
}

// A move that stopped half-way is finished by the same call.
func TestAMoveIsFinishedByRepeatingIt(t *testing.T) {
	t.Parallel()
	for _, way := range []struct {
		from, to cutover.Stage
		owner    cutover.Owner
	}{
		{cutover.StageRunNow, cutover.StageScheduled, cutover.AutomationScheduler}, {cutover.StageScheduled, cutover.StageShadow, cutover.OldScheduler}, {cutover.StageScheduled, cutover.StageRunNow, cutover.OldScheduler},
	} {
		for at := 2; at <= 6; at++ {
			for _, lost := range []bool{false, true} {
				clk := clock.NewMock()
				clk.Set(start)
				faulty := &storetest.Spy{Store: memory.New(&memory.Options{Clock: clk})}
				w := newWorld(t, faulty, clk, nil)
				w.guardCertificates(nil)
				w.ensure(candidate(nil), of("", "certificate", 1))
				w.to(certificatesPart, way.from)
				faulty.SetHook(storetest.Lose(faulty.Begun()+at, lost))
				_, _ = w.s.Rollout().MoveRollout(w.ctx, certificatesPart, way.to, ann, nil)
				faulty.SetHook(nil)
				if _, err := w.s.Rollout().MoveRollout(w.ctx, certificatesPart, way.to, ann, nil); err != nil && !errors.Is(err, automation.ErrActionRefused) {
					t.Fatal(err)
				}
				status := "Pending Shadow"
				if way.owner == cutover.OldScheduler {
					status = "Deactivated Shadow"
				}
				w.owned(certificateKey, way.owner, cutover.Owned)
				w.is(certificateKey, status)
				if list, _ := w.s.Rollout().Rollouts(w.ctx, ""); list[0].Moving || list[0].Stage != way.to {
					t.Errorf("%d %v: %+v", at, lost, list)
				}
			}
		}
	}
}

func TestAMoveRefusesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	clk := clock.NewMock()
	clk.Set(start)
	w := newWorld(t, memory.New(&memory.Options{Clock: clk}), clk, nil)
	w.guardCertificates(nil)
	move := func(part cutover.Part, to cutover.Stage, by automation.By) error {
		_, err := w.s.Rollout().MoveRollout(w.ctx, part, to, by, nil)
		return err
	}
	for want, err := range map[string]error{
		"goes to the next one": move(certificatesPart, cutover.StageRunNow, ann),
		"not one of 0 to 4":    move(certificatesPart, 5, ann),
		"no actor":             move(certificatesPart, cutover.StageShadow, automation.By{Reason: "r"}),
		"Type is not set":      move(cutover.Part{}, cutover.StageShadow, ann),
		"cutover.Part: Scope":  move(cutover.Part{Scope: "\x00any", Type: "certificate"}, cutover.StageShadow, ann),
		"Source":               move(cutover.Part{Type: "certificate", Source: "a\x1fb"}, cutover.StageShadow, ann),
		"may name one of them": move(cutover.Part{Type: "certificate", BusinessUnit: "dublin", Source: "9"}, cutover.StageShadow, ann),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if list, err := w.s.Rollout().Rollouts(w.ctx, ""); len(list) != 0 || err != nil {
		t.Errorf("half written: %+v %v", list, err)
	}
	w.to(certificatesPart, cutover.StageShadow)
	if err := move(certificatesPart, cutover.StageShadow, ann); !errors.Is(err, automation.ErrActionRefused) {
		t.Errorf("moved twice: %v", err)
	}
	w.ensure(candidate(nil))
	if err := w.s.Rollout().TransferOwnership(w.ctx, "", certificateKey, cutover.AutomationScheduler, ann); !errors.Is(err, automation.ErrActionRefused) {
		t.Errorf("picked in shadow: %v", err)
	}
}
