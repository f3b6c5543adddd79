package automation_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

type supportAction = func(context.Context, automation.Scope, string, automation.By) error

func (w *world) do(action supportAction) {
	w.t.Helper()
	if err := action(w.ctx, "", certificateKey, ann); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) refused(action supportAction, why string) {
	w.t.Helper()
	before := w.row(certificateKey)
	err := action(w.ctx, "", certificateKey, ann)
	if !errors.Is(err, automation.ErrActionRefused) || !strings.Contains(err.Error(), why) {
		w.t.Errorf("%v, want %q", err, why)
	}
	if diff := cmp.Diff(before, w.row(certificateKey)); diff != "" {
		w.t.Error(diff)
	}
}

func TestARowOnHoldWaitsForItsRelease(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(candidate(nil))
		w.refused(w.s.Support().Release, "it is not on hold")
		w.refused(w.s.Support().Retry, "it waits for its moment")
		w.do(w.s.Support().Hold)
		w.refused(w.s.Support().Hold, "it is on hold already")
		if report := w.pollAt(day(2026, 4, 1, 9)); report.Claimed != 0 {
			w.t.Errorf("a held row was claimed: %+v", report)
		}
		if row := w.row(certificateKey); row.HoldReason != reasons.HeldBySupport || row.HoldDetail != ann.Reason {
			w.t.Errorf("%+v", row)
		}
		w.do(w.s.Support().Release)
		w.poll()
		if diff := cmp.Diff(map[string]string{certificateKey: "Completed"}, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
		for _, action := range []supportAction{w.s.Support().Hold, w.s.Support().Retry, w.s.Support().Cancel} {
			w.refused(action, "it is Completed")
		}
		e, err := w.s.Explain(w.ctx, "", certificateKey)
		want := []automation.Transition{
			{On: start, Action: "Created", Actor: "host", To: automation.StatusPending},
			{On: start, Action: automation.ActionHold, Actor: "ann", Reason: ann.Reason, From: automation.StatusPending, To: automation.StatusPending},
			{On: day(2026, 4, 1, 9), Action: automation.ActionRelease, Actor: "ann", Reason: ann.Reason, From: automation.StatusPending, To: automation.StatusPending},
			{On: day(2026, 4, 1, 9), Action: "Completed", Actor: "due pass", From: automation.StatusProcessing, To: automation.StatusCompleted},
		}
		if diff := cmp.Diff(want, e.History); err != nil || diff != "" {
			w.t.Error(err, diff)
		}
	})
}

func TestWhatWasGivenUpStartsAfreshWhenReleased(t *testing.T) {
	for name, action := range map[string]func(*automation.Scheduler) supportAction{
		"Release": func(s *automation.Scheduler) supportAction { return s.Support().Release },
		"Retry":   func(s *automation.Scheduler) supportAction { return s.Support().Retry },
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				err := errBoom
				w.s.Register(certificates(func(t *automation.ReminderType) {
					t.Recipients = automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
						return []notify.Recipient{sam}, err
					})
				}))
				w.ensure(candidate(nil))
				w.clk.Set(day(2026, 4, 1, 9))
				w.waits(certificateKey)
				w.do(action(w.s))
				row := w.row(certificateKey)
				if row.Status != automation.StatusPending || row.RetryCount != 0 || row.IsOnSupportHold || !row.DueOn.Equal(row.ScheduledOn) {
					w.t.Errorf("%+v", row)
				}
				checkWaits(w.t, w.waits(certificateKey), fiveMinutes, fifteenMinutes, time.Hour)
				w.do(action(w.s))
				err = nil
				w.poll()
				if row := w.row(certificateKey); row.Status != automation.StatusCompleted {
					w.t.Errorf("%+v", row)
				}
			})
		})
	}
}

func TestRetryEndsABackOffAndAnEnd(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Recipients = failing(errBoom) }))
		w.ensure(candidate(nil))
		w.pollAt(day(2026, 4, 1, 9))
		w.do(w.s.Support().Retry)
		if row := w.row(certificateKey); !row.DueOn.Equal(row.ScheduledOn) || row.RetryCount != 0 {
			w.t.Errorf("%+v", row)
		}
		w.change(certificateKey, func(r *automation.ScheduleRow) { automation.EndRow(r, start, reasons.NoRecipients) })
		w.do(w.s.Support().Retry)
		if row := w.row(certificateKey); row.Status != automation.StatusPending || row.DueOn.IsZero() {
			w.t.Errorf("%+v", row)
		}
	})
}

// Cancelled by support: no event revives it, only an audited release does.
func TestNoEnsureRevivesWhatSupportCancelled(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(candidate(nil))
		w.do(w.s.Support().Cancel)
		w.refused(w.s.Support().Cancel, "it is Cancelled")
		w.ensure(candidate(nil))
		w.ensure(candidate(func(c *automation.Candidate) { c.SendAt = "10:00" }))
		if report := w.pollAt(day(2026, 4, 1, 10)); report.Claimed != 0 {
			w.t.Errorf("%+v", report)
		}
		if diff := cmp.Diff(map[string]string{certificateKey: "Cancelled CancelledBySupport held CancelledBySupport"}, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
		w.do(w.s.Support().Release)
		w.poll()
		if diff := cmp.Diff(map[string]string{certificateKey: "Completed"}, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
	})
}

// A hold that comes under the worker drops what the worker decides.
func TestSupportActsUnderAWorker(t *testing.T) {
	for name, want := range map[string]string{
		"Hold":   "Pending held HeldBySupport",
		"Cancel": "Cancelled CancelledBySupport held CancelledBySupport",
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				once := true
				w.s.Register(certificates(func(t *automation.ReminderType) {
					t.Recipients = automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
						if once {
							once = false
							w.refused(w.s.Support().Retry, "it is Processing")
							w.do(map[string]supportAction{"Hold": w.s.Support().Hold, "Cancel": w.s.Support().Cancel}[name])
						}
						return []notify.Recipient{sam}, nil
					})
				}))
				w.ensure(candidate(nil))
				w.pollAt(day(2026, 4, 1, 9))
				if diff := cmp.Diff(map[string]string{certificateKey: want}, w.statuses()); diff != "" || len(w.out.dispatched()) != 0 {
					w.t.Error(diff, w.out.dispatched())
				}
				w.do(w.s.Support().Release)
				w.poll()
				if row := w.row(certificateKey); row.Status != automation.StatusCompleted || row.LeaseLossCount != 0 || len(w.out.dispatched()) != 1 {
					w.t.Errorf("%+v", row)
				}
			})
		})
	}
}

// The worker of a held row has died: its lease, long expired, is no loss.
func TestAReleaseDropsALeaseThatHasExpired(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(candidate(nil))
		w.clk.Set(day(2026, 4, 1, 9))
		w.claim(time.Minute)
		w.do(w.s.Support().Hold)
		w.clk.Add(time.Hour)
		w.do(w.s.Support().Release)
		if report := w.poll(); report.Abandoned != 0 || report.Settled != 1 {
			w.t.Errorf("%+v", report)
		}
	})
}

func TestASupportActionNeedsARowOfItsScopeAndSomebodyWithAReason(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.ensure(candidate(nil))
		before := w.row(certificateKey)
		for want, err := range map[string]error{
			"no actor is given":  w.s.Support().Hold(w.ctx, "", certificateKey, automation.By{Reason: "r"}),
			"no reason is given": w.s.Support().Hold(w.ctx, "", certificateKey, automation.By{Actor: "a"}),
			"not found":          w.s.Support().Cancel(w.ctx, "other", certificateKey, ann),
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				w.t.Errorf("%v, want %q", err, want)
			}
		}
		if err := w.s.Support().Release(w.ctx, "other", certificateKey, ann); !errors.Is(err, storage.ErrNotFound) {
			w.t.Error(err)
		}
		if diff := cmp.Diff(before, w.row(certificateKey)); diff != "" {
			w.t.Error(diff)
		}
	})
}
