package automation_test

import (
	"context"
	"testing"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// What a run led to before it turns out to be another's stays with the row, and nothing
// that was never committed does.
func TestI22_WhatARunLedToOutlivesItsConflict(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.guardCertificates(nil)
		w.to(certificatesPart, cutover.StageScheduled)
		w.ensure(candidate(nil))
		w.change(certificateKey, func(r *automation.ScheduleRow) {
			r.DispatchResult = []byte(`{"path":"Skipped","skippedReasonCode":"NoRecipients","summary":"as of yesterday"}`)
		})
		w.setOwnership(certificateKey, func(o *automation.OwnershipRow) { automation.GiveOwner(o, cutover.OldScheduler) })
		w.clk.Set(whenDue)
		if !w.old(certificateKey, `{"mail":"m-1"}`) {
			w.t.Fatal("the old scheduler was refused its own run")
		}
		w.poll()
		w.is(certificateKey, "Failed OwnershipConflict held OwnershipConflict")
		row := w.row(certificateKey)
		d, err := row.Dispatched()
		if err != nil || d.Path != notify.PathSkipped || d.SkippedReason != "NoRecipients" || d.Summary != "as of yesterday" ||
			d.ConflictReason != reasons.OwnershipConflict || !d.Notification.IsZero() {
			w.t.Errorf("%+v %v", d, err)
		}
	})
}

// Nobody was there to tell; then somebody is.
func TestWhatIsSentAfterAllWasNotSkipped(t *testing.T) {
	eachWorld(t, func(w *world) {
		to := []notify.Recipient(nil)
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Recipients = automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) { return to, nil })
		}))
		w.ensure(candidate(nil))
		w.pollAt(day(2026, 4, 1, 9))
		row := w.row(certificateKey)
		if d, _ := row.Dispatched(); d.SkippedReason != string(reasons.NoRecipients) {
			w.t.Errorf("%+v", d)
		}
		to = []notify.Recipient{sam}
		if got := w.ensure(candidate(nil))[0]; got.Outcome != storage.Reactivated || got.Result.SkippedReason != string(reasons.NoRecipients) {
			w.t.Errorf("it is skipped until it is sent: %+v", got)
		}
		w.poll()
		row = w.row(certificateKey)
		if d, _ := row.Dispatched(); row.Status != automation.StatusCompleted || d.SkippedReason != "" || d.Path != notify.PathDirectReminder {
			w.t.Errorf("%s: %+v", row.Status, d)
		}
	})
}
