package automation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/causes"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

func TestEnsureInsertsWhatIsMissing(t *testing.T) {
	eachWorld(t, func(w *world) {
		got := w.ensure(candidate(nil))
		want := []automation.Ensured{{Outcome: storage.Created, Key: certificateKey, Status: automation.StatusPending, ScheduledOn: day(2026, 4, 1, 9)}}
		if diff := cmp.Diff(want, got); diff != "" {
			w.t.Error(diff)
		}
		row := w.row(certificateKey)
		if !row.DueOn.Equal(day(2026, 4, 1, 9)) || row.LocalDate != "2026-04-01" || row.Kind != "certificate" || row.Version != 1 {
			w.t.Errorf("%+v", row)
		}
	})
}

func TestARepeatChangesNothingUnderAWorker(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.ensure(candidate(nil))
		w.clk.Set(day(2026, 4, 1, 9))
		w.claim(time.Minute)
		before := w.row(certificateKey)
		if got := w.ensure(candidate(nil)); got[0].Outcome != storage.InFlight || got[0].Status != automation.StatusProcessing {
			w.t.Errorf("%+v", got)
		}
		if diff := cmp.Diff(before, w.row(certificateKey)); diff != "" {
			w.t.Error(diff)
		}
	})
}

func TestI4_ACompletedRowIsNeverSentAgain(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(candidate(nil))
		w.pollAt(day(2026, 4, 1, 9))
		before := w.row(certificateKey)
		same := w.ensure(candidate(nil))[0]
		moved := w.ensure(candidate(func(c *automation.Candidate) { c.SendAt = "17:00" }))[0]
		other := w.ensure(candidate(func(c *automation.Candidate) { c.Identity = map[string]string{"course": "b"} }))[0]
		if same.Outcome != storage.Unchanged || same.InputDiffers || same.Result.Notification.IsZero() {
			w.t.Errorf("%+v", same)
		}
		if diff := cmp.Diff(same, moved); diff != "" {
			w.t.Error(diff)
		}
		if other.Outcome != storage.Unchanged || !other.InputDiffers || other.Result.Notification != same.Result.Notification {
			w.t.Errorf("another hash is only reported: %+v", other)
		}
		if diff := cmp.Diff(before, w.row(certificateKey)); before.Status != automation.StatusCompleted || diff != "" {
			w.t.Error(before.Status, diff)
		}
		w.pollAt(day(2026, 5, 1, 9))
		if got := w.out.dispatched(); len(got) != 1 {
			w.t.Errorf("dispatched %v", got)
		}
	})
}

func TestI3_AnotherInputIsAConflictAndOverwritesNothing(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.ensure(candidate(nil))
		before := w.row(certificateKey)
		got, err := w.s.Ensure(w.ctx,
			candidate(func(c *automation.Candidate) { c.Identity = map[string]string{"course": "b"}; c.SendAt = "17:00" }),
			candidate(func(c *automation.Candidate) { c.DaysBefore = 7 }))
		var conflict *notify.ConflictError
		if !errors.As(err, &conflict) || conflict.RowKey != certificateKey || conflict.Stored != before.InputHash || conflict.Wanted == conflict.Stored {
			w.t.Fatalf("%v", err)
		}
		if got[0].Outcome != storage.Conflict || got[0].Conflict != conflict || got[1].Outcome != storage.Created {
			w.t.Errorf("%+v", got)
		}
		after := w.row(certificateKey)
		if !after.IsOnSupportHold || after.HoldReason != reasons.InputConflict || !after.DueOn.IsZero() {
			w.t.Errorf("%+v", after)
		}
		after.IsOnSupportHold, after.HoldReason, after.HoldDetail, after.DueOn, after.Version = false, "", "", before.DueOn, before.Version
		if diff := cmp.Diff(before, after); diff != "" {
			w.t.Error(diff)
		}
	})
}

func TestARepeatWritesNothingAndResetsNoBackOff(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Recipients = failing(errBoom) }))
		w.ensure(candidate(nil))
		w.pollAt(day(2026, 4, 1, 9))
		before := w.row(certificateKey)
		if got := w.ensure(candidate(nil))[0]; got.Outcome != storage.Unchanged {
			w.t.Errorf("%+v", got)
		}
		if diff := cmp.Diff(before, w.row(certificateKey)); diff != "" || before.NextRetryOn.IsZero() {
			w.t.Error(diff)
		}
	})
}

func TestAnotherTimeOfSendingMovesThePendingRow(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Recipients = failing(errBoom) }))
		w.ensure(candidate(nil))
		w.pollAt(day(2026, 4, 1, 9))
		got := w.ensure(candidate(func(c *automation.Candidate) { c.SendAt = "17:00" }))[0]
		row := w.row(certificateKey)
		if got.Outcome != storage.Updated || !row.NextRetryOn.IsZero() || !row.DueOn.Equal(day(2026, 4, 1, 17)) || row.SendAt != "17:00" {
			w.t.Errorf("%+v %+v", got, row)
		}
		if row.RetryCount != 1 || row.Diagnostics != "boom" {
			w.t.Errorf("attempts and diagnostics stay: %+v", row)
		}
	})
}

func TestEnsureReactivatesWhatEnded(t *testing.T) {
	for _, status := range []string{automation.StatusFailed, automation.StatusDeactivated, automation.StatusCancelled} {
		t.Run(status, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				w.ensure(candidate(nil))
				w.change(certificateKey, func(r *automation.ScheduleRow) {
					r.Status, r.ReasonCode, r.Diagnostics, r.RetryCount, r.EndedOn = status, reasons.HandlerFailed, "boom", 2, start
					r.DispatchResult = []byte(`{"scheduler":"guard"}`)
				})
				got := w.ensure(candidate(nil))[0]
				row := w.row(certificateKey)
				if got.Outcome != storage.Reactivated || got.Result.Scheduler != "guard" || row.Status != automation.StatusPending || row.DueOn.IsZero() || !row.EndedOn.IsZero() {
					w.t.Errorf("%+v %+v", got, row)
				}
				if row.RetryCount != 2 || row.Diagnostics != "boom" || row.ReasonCode != reasons.HandlerFailed {
					w.t.Errorf("attempts and diagnostics stay: %+v", row)
				}
			})
		})
	}
}

func TestEnsureNeverClearsAHold(t *testing.T) {
	for _, c := range []struct {
		status, after string
		outcome       storage.Outcome
	}{
		{automation.StatusPending, automation.StatusPending, storage.Updated},
		{automation.StatusDeactivated, automation.StatusPending, storage.Reactivated},
		{automation.StatusFailed, automation.StatusFailed, storage.Updated}, // waits for its release
		{automation.StatusCancelled, automation.StatusCancelled, storage.Updated},
	} {
		t.Run(c.status, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				w.ensure(candidate(nil))
				w.change(certificateKey, func(r *automation.ScheduleRow) {
					r.Status = c.status
					automation.HoldRow(r, reasons.HeldBySupport, "")
				})
				got := w.ensure(candidate(func(c *automation.Candidate) { c.SendAt = "17:00" }))[0]
				row := w.row(certificateKey)
				if got.Outcome != c.outcome || row.Status != c.after || row.SendAt != "17:00" {
					w.t.Errorf("%+v %+v", got, row)
				}
				if !got.IsOnSupportHold || row.HoldReason != reasons.HeldBySupport || !row.DueOn.IsZero() {
					w.t.Errorf("%+v %+v", got, row)
				}
				if again := w.ensure(candidate(func(c *automation.Candidate) { c.SendAt = "17:00" }))[0]; again.Outcome != storage.Unchanged {
					w.t.Errorf("%+v", again)
				}
			})
		})
	}
}

func TestAFirstImportDoesNotSendThePast(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Lateness.CatchUp = 48 * time.Hour }))
		w.ensure(candidate(func(c *automation.Candidate) { c.DaysBefore = 40 }))
		w.clk.Set(day(2026, 4, 30, 8))
		got := w.ensure(
			candidate(func(c *automation.Candidate) { c.DaysBefore = 40 }), // exists: left to its Lateness
			candidate(nil),
			candidate(func(c *automation.Candidate) { c.DaysBefore = 2 }), // 47 hours ago
			candidate(func(c *automation.Candidate) { c.DaysBefore = 1 }))
		var outcomes []storage.Outcome
		for _, e := range got {
			outcomes = append(outcomes, e.Outcome)
		}
		want := []storage.Outcome{storage.Unchanged, causes.OffsetPassed, storage.Created, storage.Created}
		if diff := cmp.Diff(want, outcomes); diff != "" || len(w.rows()) != 3 {
			w.t.Error(diff)
		}
		if !got[1].ScheduledOn.Equal(day(2026, 4, 1, 9)) || got[1].Key != certificateKey {
			w.t.Errorf("%+v", got[1])
		}
	})
}

func TestTheSameCandidateTwiceInOneCallIsOneRow(t *testing.T) {
	eachWorld(t, func(w *world) {
		got := w.ensure(candidate(nil), candidate(nil))
		if got[0].Outcome != storage.Created || got[1].Outcome != storage.Unchanged || len(w.rows()) != 1 {
			w.t.Errorf("%+v", got)
		}
	})
}

func TestEqualKeysInTwoScopesNeverMeet(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		for _, scope := range []automation.Scope{"a", "b"} {
			if got := w.ensure(candidate(func(c *automation.Candidate) { c.Scope = scope }))[0]; got.Outcome != storage.Created || got.Scope != scope {
				w.t.Errorf("%+v", got)
			}
		}
		w.clk.Set(day(2026, 4, 1, 9))
		if err := w.s.Support().Cancel(w.ctx, "a", certificateKey, ann); err != nil {
			w.t.Fatal(err)
		}
		w.poll()
		if a, b := w.rowIn("a", certificateKey), w.rowIn("b", certificateKey); a.Status != automation.StatusCancelled || b.Status != automation.StatusCompleted {
			w.t.Error(a.Status, b.Status)
		}
	})
}

// Rows of a large call are not read if they are as they were inserted. Nobody can
// tell by the answers.
func TestManyKnownCandidatesAreAnsweredAsIfAskedOneByOne(t *testing.T) {
	eachWorld(t, func(w *world) {
		about := func(n int) automation.Candidate {
			return candidate(func(c *automation.Candidate) { c.Source.ID = fmt.Sprintf("c%03d", n) })
		}
		var all []automation.Candidate
		for n := range 120 {
			all = append(all, about(n))
		}
		created := w.ensure(all...)
		for range 20 { // behind a batch of new rows Ensure does not ask for a while
			w.ensure(all...)
		}
		w.change(created[3].Key, func(r *automation.ScheduleRow) { automation.HoldRow(r, reasons.HeldBySupport, "") })
		w.change(created[4].Key, func(r *automation.ScheduleRow) { r.Status, r.EndedOn = automation.StatusCompleted, start })
		w.change(created[5].Key, func(r *automation.ScheduleRow) { r.SendAt = "08:00" })

		fresh := slices.Clone(all)
		fresh[6].SendAt = "17:00"
		fresh = append(fresh, about(500), fresh[7])
		want := map[int]storage.Outcome{4: storage.Unchanged, 5: storage.Updated, 6: storage.Updated, 120: storage.Created}
		got := w.ensure(fresh...)
		for i, e := range got {
			outcome, named := want[i]
			if !named {
				outcome = storage.Unchanged
			}
			if e.Outcome != outcome {
				w.t.Errorf("candidate %d: %s instead of %s", i, e.Outcome, outcome)
			}
		}
		for i, c := range fresh {
			one := w.ensure(c)[0]
			if one.Outcome != storage.Unchanged {
				w.t.Errorf("candidate %d is %s when asked again", i, one.Outcome)
			}
			one.Outcome = got[i].Outcome
			if diff := cmp.Diff(one, got[i]); diff != "" {
				w.t.Errorf("candidate %d (-alone +among many):\n%s", i, diff)
			}
		}
	})
}

func TestAWorkerThatDiesAfterItsClaimIsFollowedByAnother(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(candidate(nil))
		w.clk.Set(day(2026, 4, 1, 9))
		w.claim(time.Minute)
		if report := w.poll(); report.Claimed != 0 {
			w.t.Errorf("the lease stands: %+v", report)
		}
		if report := w.pollAt(day(2026, 4, 1, 9).Add(time.Minute)); report.Abandoned != 1 || len(w.out.dispatched()) != 0 {
			w.t.Errorf("an abandoned row is not handled: %+v", report)
		}
		row := w.row(certificateKey)
		if row.Status != automation.StatusPending || row.RetryCount != 1 || row.LeaseLossCount != 1 || row.ReasonCode != reasons.LeaseExpired {
			w.t.Errorf("%+v", row)
		}
		w.pollAt(row.NextRetryOn)
		if row := w.row(certificateKey); row.Status != automation.StatusCompleted || row.LeaseLossCount != 1 {
			w.t.Errorf("%+v", row)
		}
	})
}

func TestATryThatFailsSinceItsContextEndedIsNotCounted(t *testing.T) {
	eachWorld(t, func(w *world) {
		ctx, cancel := context.WithCancel(w.ctx)
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Recipients = automation.RecipientFunc(func(ctx context.Context, _ automation.Due) ([]notify.Recipient, error) {
				cancel()
				return nil, ctx.Err()
			})
		}))
		w.ensure(candidate(nil))
		w.clk.Set(day(2026, 4, 1, 9))
		rows := w.claim(time.Minute)
		_, err := automation.HandleRows(w.ctx, w.s, itemsOf(ctx, rows))
		if row := rows[0]; err != nil || row.Status != automation.StatusPending || row.RetryCount != 0 || row.ReasonCode != "" {
			w.t.Errorf("%v %+v", err, row)
		}
	})
}

// A setting that is off, or that nobody made, has no rows: Ensure says so as events do.
func TestEnsureSaysThatASettingIsOff(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		settings := settingsMap{"certificate": true}
		w := newWorld(t, store, clk, &automation.Options{Settings: settings})
		w.s.Register(certificates(nil))
		other := candidate(func(c *automation.Candidate) { c.Setting = "nobody made it" })
		host := automation.Candidate{AutomationType: "sweep", Source: automation.Source{"night", "1"}, ScheduledOn: day(2026, 4, 1, 9)}
		got := w.ensure(other, candidate(nil), host)
		want := []storage.Outcome{causes.SettingInactive, storage.Created, storage.Created} // a host's type has no setting
		if diff := cmp.Diff(want, []storage.Outcome{got[0].Outcome, got[1].Outcome, got[2].Outcome}); diff != "" || len(w.rows()) != 2 {
			t.Error(diff, w.statuses())
		}
		settings["certificate"] = false
		if got := w.ensure(candidate(nil))[0]; got.Outcome != causes.SettingInactive {
			t.Errorf("%+v", got)
		}
	})
}
