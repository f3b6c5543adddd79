package automation_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/causes"
	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// I-22: the run belongs to this side, so the old scheduler is refused, before
// and after it was delivered.
func TestI22_TheOldSchedulerIsRefusedWhatIsNotItsOwn(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.guardCertificates(nil)
		w.to(certificatesPart, cutover.StageScheduled)
		w.ensure(candidate(nil))
		w.owned(certificateKey, cutover.AutomationScheduler, cutover.Owned)
		w.clk.Set(whenDue)
		if w.old(certificateKey, `{}`) {
			w.t.Error("the old scheduler was granted the run")
		}
		w.poll()
		w.owned(certificateKey, cutover.AutomationScheduler, cutover.DeliveryCreated)
		if w.old(certificateKey, `{}`) || len(w.out.dispatched()) != 1 {
			w.t.Error("delivered, and then granted", w.out.dispatched())
		}
		got, _ := w.s.Rollout().Ownership(w.ctx, "", certificateKey)
		job, _ := w.s.Explain(w.ctx, "", certificateKey)
		want := `{"notification":{"pk":"7","rk":"` + job.Dispatched.Notification.RowKey + `"}}`
		if string(got.Coordinates) != want || got.Stage != cutover.StageScheduled || !got.EndedOn.Equal(whenDue) {
			w.t.Errorf("%s, want %s: %+v", got.Coordinates, want, got)
		}
	})
}

// I-22: the old scheduler has delivered while the row was on its way: the row is
// held, names both sides, and nothing of it goes out, now or later.
func TestI22_ARunThatTheOldSchedulerDeliveredIsHeld(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.guardCertificates(nil)
		w.to(certificatesPart, cutover.StageScheduled)
		w.ensure(candidate(nil))
		w.setOwnership(certificateKey, func(o *automation.OwnershipRow) { automation.GiveOwner(o, cutover.OldScheduler) })
		w.clk.Set(whenDue)
		if !w.old(certificateKey, `{"mail":"m-1"}`) {
			w.t.Fatal("the old scheduler was refused its own run")
		}
		w.poll()
		w.is(certificateKey, "Failed OwnershipConflict held OwnershipConflict")
		row := w.row(certificateKey)
		for _, part := range []string{"AutomationScheduler", "OldScheduler", "DeliveryCreated", `"m-1"`, `"notification"`} {
			if !strings.Contains(row.HoldDetail, part) {
				w.t.Errorf("the detail does not name %s: %s", part, row.HoldDetail)
			}
		}
		if d, _ := row.Dispatched(); !d.Notification.IsZero() || d.ConflictReason != reasons.OwnershipConflict {
			w.t.Errorf("%+v", d)
		}
		w.do(w.s.Support().Release)
		w.poll()
		w.is(certificateKey, "Failed OwnershipConflict held OwnershipConflict")
		if got := w.out.dispatched(); len(got) != 0 {
			w.t.Error("a second delivery", got)
		}
		conflicts, _, err := w.s.Rollout().OwnershipConflicts(w.ctx, "", storage.Page{})
		if err != nil || len(conflicts) != 1 || conflicts[0].Key != certificateKey || !strings.Contains(string(conflicts[0].Ownership.Coordinates), "m-1") {
			w.t.Errorf("%+v %v", conflicts, err)
		}
		if others, _, err := w.s.Rollout().OwnershipConflicts(w.ctx, "north", storage.Page{}); err != nil || len(others) != 0 {
			w.t.Errorf("another tenant sees %+v %v", others, err)
		}
	})
}

// The old scheduler has begun, and will never finish: support gives the run to
// this side and releases it.
func TestSupportResolvesAConflict(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.begunByTheOld()
		w.is(certificateKey, "Failed OwnershipConflict held OwnershipConflict")
		if err := w.s.Rollout().TransferOwnership(w.ctx, "", certificateKey, cutover.AutomationScheduler, ann); err != nil {
			w.t.Fatal(err)
		}
		w.do(w.s.Support().Release)
		w.poll()
		w.owned(certificateKey, cutover.AutomationScheduler, cutover.DeliveryCreated)
		if len(w.out.dispatched()) != 1 || w.old(certificateKey, "") {
			w.t.Error(w.out.dispatched())
		}
		if err := w.s.Rollout().TransferOwnership(w.ctx, "", certificateKey, cutover.OldScheduler, ann); err == nil || !strings.Contains(err.Error(), "DeliveryCreated") {
			w.t.Errorf("what is delivered changes owner: %v", err)
		}
	})
}

// begunByTheOld is a run that became due after the old scheduler had begun it.
func (w *world) begunByTheOld() {
	w.t.Helper()
	w.guardCertificates(nil)
	w.to(certificatesPart, cutover.StageScheduled)
	w.ensure(candidate(nil))
	w.setOwnership(certificateKey, func(o *automation.OwnershipRow) { automation.GiveOwner(o, cutover.OldScheduler) })
	w.pollAt(whenDue)
}

// A refusal leaves the row as it was, also in a transaction that goes on.
func TestARefusedTransferWritesNothing(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.begunByTheOld()
		const held = "Failed OwnershipConflict held OwnershipConflict"
		w.is(certificateKey, held)
		for _, by := range []automation.By{ann, {}} {
			err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
				if err := w.s.WithTx(tx).Rollout().TransferOwnership(w.ctx, "", certificateKey, cutover.OldScheduler, by); err == nil {
					w.t.Error("given to whom it belongs to")
				}
				return nil
			})
			if err != nil {
				w.t.Error(err)
			}
			w.is(certificateKey, held)
		}
	})
}

// What the guard says is written in the transaction that dispatches: without the
// dispatch it is not said.
func TestI22_TheGuardAndTheDeliveryAreOneTransaction(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.guardCertificates(nil)
		w.to(certificatesPart, cutover.StageScheduled)
		w.ensure(candidate(nil))
		w.out.fail = errBoom
		w.pollAt(whenDue)
		w.owned(certificateKey, cutover.AutomationScheduler, cutover.Owned)
		w.out.fail = nil
		w.clk.Set(w.row(certificateKey).DueOn)
		w.poll()
		w.owned(certificateKey, cutover.AutomationScheduler, cutover.DeliveryCreated)
	})
}

// A retry reuses ownership and coordinates; another delivery under the same run
// is a conflict.
func TestARetryIsTheSameDelivery(t *testing.T) {
	eachWorld(t, func(w *world) {
		rowKey := "first"
		w.s.Handle(automation.WorkType{Name: "export", Handler: automation.HandlerFunc(func(_ context.Context, due []automation.Due) ([]automation.Outcome, error) {
			out := make([]automation.Outcome, len(due))
			for i := range due {
				out[i].Deactivate = "again"
				out[i].Jobs = []notify.Job{{
					Type: "export", PartitionKey: "p", RowKey: rowKey, EntityType: "file", Entity: "1", InputHash: "h",
				}}
			}
			return out, nil
		}), Guarded: true})
		w.out.Notifier.Register(notify.Type{Name: "export"})
		w.to(cutover.Part{Type: "export"}, cutover.StageCutOver)
		ask := automation.Candidate{AutomationType: "export", Source: automation.Source{"file", "1"}, ScheduledOn: start.Add(time.Hour)}
		key := w.ensure(ask)[0].Key
		w.pollAt(start.Add(time.Hour))
		w.owned(key, cutover.AutomationScheduler, cutover.DeliveryCreated)
		w.ensure(ask)
		w.poll()
		w.is(key, "Deactivated again")
		rowKey = "second"
		w.ensure(ask)
		w.poll()
		w.is(key, "Failed OwnershipConflict held OwnershipConflict")
		if n := len(w.out.jobs); n != 2 || w.out.jobs[1].RowKey != "first" {
			w.t.Errorf("%d jobs: %+v", n, w.out.jobs)
		}
	})
}

// Nothing was to be delivered: neither side does later, unless it is asked for
// again.
func TestARunWithNothingToDeliverIsCancelled(t *testing.T) {
	eachWorld(t, func(w *world) {
		nobody := true
		w.guardCertificates(func(t *automation.ReminderType) {
			t.Recipients = automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
				if nobody {
					return nil, nil
				}
				return []notify.Recipient{sam}, nil
			})
		})
		w.to(certificatesPart, cutover.StageScheduled)
		w.ensure(candidate(nil))
		w.pollAt(whenDue)
		w.owned(certificateKey, cutover.AutomationScheduler, cutover.Cancelled)
		if w.old(certificateKey, "") {
			w.t.Error("the old scheduler delivers what was found to be empty")
		}
		nobody = false
		w.ensure(candidate(nil))
		w.owned(certificateKey, cutover.AutomationScheduler, cutover.Owned)
		w.poll()
		w.owned(certificateKey, cutover.AutomationScheduler, cutover.DeliveryCreated)
	})
}

// Support has a cancelled run tried again, which asks nobody.
func TestACancelledRunThatIsRetriedIsDelivered(t *testing.T) {
	eachWorld(t, func(w *world) {
		to := []notify.Recipient{}
		w.guardCertificates(func(t *automation.ReminderType) {
			t.Recipients = automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) { return to, nil })
		})
		w.to(certificatesPart, cutover.StageScheduled)
		w.ensure(candidate(nil))
		w.pollAt(whenDue)
		to = append(to, sam)
		w.do(w.s.Support().Retry)
		w.poll()
		w.owned(certificateKey, cutover.AutomationScheduler, cutover.DeliveryCreated)
	})
}

// What was delivered here before the type came under the guard stays so.
func TestWhatWasDeliveredBeforeTheGuardIsNotGivenAway(t *testing.T) {
	eachWorld(t, func(w *world) {
		before := automation.New(w.store, w.out, &w.opts)
		before.Register(certificates(nil))
		if _, err := before.Ensure(w.ctx, candidate(nil)); err != nil {
			w.t.Fatal(err)
		}
		w.clk.Set(whenDue)
		w.drain(passOf(before, "automation"))
		w.s = automation.New(w.store, &recorder{Notifier: notify.New(w.store, nil)}, &w.opts)
		w.guardCertificates(nil)
		w.ensure(candidate(nil))
		w.owned(certificateKey, cutover.AutomationScheduler, cutover.DeliveryCreated)
		if w.old(certificateKey, "") {
			w.t.Error("the old scheduler delivers it once more")
		}
	})
}

// The old scheduler's own side: it delivers once, and a retry with the
// same coordinates is the same delivery.
func TestTheOldSchedulerDeliversARunOnce(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.guardCertificates(nil)
		w.ensure(candidate(nil))
		if !w.old(certificateKey, `{"mail":1}`) {
			w.t.Error("refused its own run")
		}
		for coordinates, want := range map[string]bool{`{"mail":1}`: true, `{"mail":2}`: false, "": false} {
			if got := w.old(certificateKey, coordinates); got != want {
				w.t.Errorf("repeated with %q: %v", coordinates, got)
			}
		}
		unknown := strings.ReplaceAll(certificateKey, ":7:", ":8:")
		if !w.old(unknown, "") || w.old(unknown, "") {
			w.t.Error("a run that is not known here is delivered once, too")
		}
	})
}

// Inside the host's transaction, the mark vanishes with it.
func TestAMarkOfTheOldSchedulerVanishesWithItsTransaction(t *testing.T) {
	eachWorld(t, func(w *world) {
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
			got, err := w.s.WithTx(tx).Rollout().DeliverForOldScheduler(w.ctx, "", cutover.OldRun{Key: certificateKey})
			if err == nil && !got[0].Granted {
				w.t.Error("refused")
			}
			return errBoom
		})
		if err == nil || !w.old(certificateKey, "") {
			w.t.Errorf("%v", err)
		}
	})
}

func TestTheGuardRefusesWhatIsNoRun(t *testing.T) {
	t.Parallel()
	clk := clock.NewMock()
	w := newWorld(t, memory.New(&memory.Options{Clock: clk}), clk, nil)
	for want, run := range map[string]cutover.OldRun{
		"run 0: its Key:": {Key: "mail 7"},
		"no JSON":         {Key: certificateKey, Coordinates: []byte("m-1")},
		"more than":       {Key: certificateKey, Coordinates: []byte(`"` + strings.Repeat("x", 5000) + `"`)},
	} {
		if _, err := w.s.Rollout().DeliverForOldScheduler(w.ctx, "", run); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, err := range []error{
		second(w.s.Rollout().DeliverForOldScheduler(w.ctx, "\x00any", cutover.OldRun{Key: certificateKey})), second(w.s.Rollout().Ownership(w.ctx, "\x00any", certificateKey)),
		third(w.s.Rollout().OwnershipConflicts(w.ctx, "\x00any", storage.Page{})), second(w.s.Rollout().Rollouts(w.ctx, "\x00any")),
		w.s.Rollout().TransferOwnership(w.ctx, "\x00any", certificateKey, cutover.OldScheduler, ann),
		w.s.Rollout().TransferOwnership(w.ctx, "", certificateKey, "me", ann), second(w.s.Rollout().Ownership(w.ctx, "", certificateKey)),
	} {
		if err == nil {
			t.Error("accepted")
		}
	}
}

func second[V any](_ V, err error) error { return err }

func third[V, N any](_ V, _ N, err error) error { return err }

// I-28: the guard of one tenant knows nothing of another's.
func TestI28_TheGuardKeepsTenantsApart(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.guardCertificates(nil)
		w.to(certificatesPart, cutover.StageScheduled)
		w.ensure(candidate(nil), candidate(func(c *automation.Candidate) { c.Scope = "north" }))
		north, err := w.s.Rollout().Ownership(w.ctx, "north", certificateKey)
		if err != nil || north.Owner != cutover.OldScheduler {
			w.t.Errorf("the stage of one tenant is another's: %+v %v", north, err)
		}
		w.pollAt(whenDue)
		got, err := w.s.Rollout().DeliverForOldScheduler(w.ctx, "north", cutover.OldRun{Key: certificateKey})
		if err != nil || !got[0].Granted || len(w.out.dispatched()) != 1 {
			w.t.Errorf("%+v %v %v", got, err, w.out.dispatched())
		}
	})
}

// Types that are not under the guard cost no statement, beside one that is none.
func TestWithoutTheGuardNothingIsAsked(t *testing.T) {
	t.Parallel()
	run := func(guarded bool) []string {
		clk := clock.NewMock()
		clk.Set(start)
		store, calls := storetest.Counting(memory.New(&memory.Options{Clock: clk}))
		w := newWorld(t, store, clk, nil)
		w.s.Register(certificates(nil))
		if guarded {
			w.s.Register(certificates(func(t *automation.ReminderType) { t.Name, t.Guarded = "invoice", true }))
		}
		w.ensure(candidate(nil))
		w.pollAt(whenDue)
		verbs := calls.Verbs()
		return slices.DeleteFunc(slices.Clone(verbs), func(verb string) bool {
			table, looks := strings.CutPrefix(verb, "get ") // what the tests before have found decides whether an Ensure looks first
			return looks && slices.Contains(verbs, "insert "+table)
		})
	}
	if without, beside := run(false), run(true); !slices.Equal(without, beside) || len(without) == 0 {
		t.Errorf("without the guard:\n%q\nbeside a guarded type:\n%q", without, beside)
	}
}

// A run that nobody wants any more is done by neither side: the old scheduler is not
// granted it, whatever ended it.
func TestI22_ARunThatIsNotWantedIsNobodys(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world, p *triggers){
		"event":   func(w *world, p *triggers) { p.set(); w.handle(changed(2)) },
		"support": func(w *world, _ *triggers) { w.do(w.s.Support().Cancel) },
	} {
		for _, stage := range []cutover.Stage{cutover.StageShadow, cutover.StageScheduled} {
			t.Run(fmt.Sprint(name, "/", stage), func(t *testing.T) {
				eachWorld(t, func(w *world) {
					p := &triggers{}
					w.guardCertificates(func(t *automation.ReminderType) { t.Triggers = p })
					w.to(certificatesPart, stage)
					p.set(offsets(date(2026, 5, 1), 30)...)
					w.handle(changed(1))
					end(w, p)
					if got := w.owner(certificateKey); !strings.HasSuffix(got, cutover.Cancelled) {
						w.t.Error(got)
					}
					if w.old(certificateKey, "") {
						w.t.Error("the old scheduler may do what nobody wants")
					}
					if name == "support" {
						return
					}
					p.set(offsets(date(2026, 5, 1), 30)...)
					w.handle(changed(3)) // wanted after all
					if got := w.owner(certificateKey); !strings.HasSuffix(got, cutover.Owned) {
						w.t.Error(got)
					}
					w.pollAt(whenDue)
					if n := len(w.out.dispatched()); w.old(certificateKey, "") == (n > 0) {
						w.t.Errorf("%d deliveries here, and the old scheduler's answer does not fit", n)
					}
				})
			})
		}
	}
}

// A run that comes back weeks after its moment stays ended, and nobody's: neither side
// may deliver it, wherever the part is, and no move gives it to one.
func TestI22_ARunThatComesBackTooLateIsNobodys(t *testing.T) {
	t.Parallel()
	for _, stage := range []cutover.Stage{cutover.StageShadow, cutover.StageScheduled} {
		t.Run(stage.String(), func(t *testing.T) {
			eachWorld(t, func(w *world) {
				p := &triggers{}
				w.guardCertificates(func(t *automation.ReminderType) { t.Triggers = p })
				w.to(certificatesPart, stage)
				p.set(offsets(date(2026, 5, 1), 30)...)
				w.handle(changed(1))
				p.set()
				w.handle(changed(2))
				w.clk.Set(day(2026, 4, 20, 9))
				p.set(offsets(date(2026, 5, 1), 30)...)
				if got := w.handle(changed(3)).Ensured[0]; got.Outcome != causes.OffsetPassed {
					w.t.Errorf("%+v", got)
				}
				w.is(certificateKey, "Deactivated Superseded")
				if got := w.owner(certificateKey); !strings.HasSuffix(got, cutover.Cancelled) {
					w.t.Error(got)
				}
				w.to(certificatesPart, cutover.StageDesign)
				if w.old(certificateKey, "") {
					w.t.Error("the old scheduler may do what is too late")
				}
			})
		})
	}
}

// A run that ended here is asked for again when its part has gone back: it is the old
// scheduler's, which is granted it.
func TestI22_ARunThatComesBackIsWhoseThePartIs(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := &triggers{}
		w.guardCertificates(func(t *automation.ReminderType) { t.Triggers = p })
		w.to(certificatesPart, cutover.StageScheduled)
		p.set(offsets(date(2026, 5, 1), 30)...)
		w.handle(changed(1))
		p.set()
		w.handle(changed(2))
		w.to(certificatesPart, cutover.StageShadow)
		p.set(offsets(date(2026, 5, 1), 30)...)
		w.handle(changed(3))
		w.is(certificateKey, "Deactivated Shadow")
		w.owned(certificateKey, cutover.OldScheduler, cutover.Owned)
		w.pollAt(whenDue)
		if !w.old(certificateKey, "") || len(w.out.dispatched()) > 0 {
			w.t.Error("the old scheduler was refused", w.out.dispatched())
		}
	})
}
