package automation_test

import (
	"context"
	"testing"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage/driver"
)

// The process dies between any two steps, or the store refuses: what is done
// twice is done once.
func TestATryThatCouldNotBeStoredIsRepeatedWithoutASecondDelivery(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(candidate(nil))
		w.out.fail = errBoom // the dispatch is rolled back with the settling
		w.pollAt(day(2026, 4, 1, 9))
		row := w.row(certificateKey)
		if row.Status != automation.StatusPending || row.RetryCount != 1 || row.Diagnostics != "boom" || !row.EndedOn.IsZero() {
			w.t.Fatalf("%+v", row)
		}
		w.out.fail = nil
		w.pollAt(row.NextRetryOn)
		w.claim(time.Minute) // nothing is left to claim
		row = w.row(certificateKey)
		if row.Status != automation.StatusCompleted || len(w.out.dispatched()) != 1 {
			w.t.Errorf("%+v %v", row, w.out.dispatched())
		}
	})
}

//spec:a-024
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
		if row.Status != automation.StatusPending || row.RetryCount != 1 || row.LeaseLossCount != 1 || row.ReasonCode != automation.LeaseExpired {
			w.t.Errorf("%+v", row)
		}
		w.pollAt(row.NextRetryOn)
		if row := w.row(certificateKey); row.Status != automation.StatusCompleted || row.LeaseLossCount != 1 {
			w.t.Errorf("%+v", row)
		}
	})
}

func TestShutdownGivesRowsBackUncounted(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(candidate(nil))
		w.clk.Set(day(2026, 4, 1, 9))
		row := w.claim(time.Minute)[0]
		automation.GiveBackRow(row, driver.Now(w.store))
		row.LeaseExpiresOn = time.Time{}
		if row.Status != automation.StatusPending || row.RetryCount != 0 || !row.DueOn.Equal(day(2026, 4, 1, 9)) || !row.NextRetryOn.IsZero() {
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
