package automation_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

func TestADueReminderQueuesItsDelivery(t *testing.T) {
	eachWorld(t, func(w *world) {
		var due automation.Due
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Recipients = automation.RecipientFunc(func(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
				due = d
				return []notify.Recipient{sam}, nil
			})
		}))
		w.ensure(candidate(func(c *automation.Candidate) { c.BusinessUnit = "north" }))
		if report := w.pollAt(day(2026, 4, 1, 9).Add(-time.Microsecond)); report.Claimed != 0 {
			w.t.Errorf("early: %+v", report)
		}
		w.pollAt(day(2026, 4, 1, 9))
		wantDue := automation.Due{
			Key: certificateKey, AutomationType: automation.TypeReminder, Type: "certificate", TriggerType: automation.DateBased, BusinessUnit: "north",
			Setting: automation.Setting{ID: "certificate", Active: true}, Source: automation.Source{"employee", "7"}, TriggerKey: "default",
			TargetDate: date(2026, 5, 1), DaysBefore: 30, ScheduledOn: day(2026, 4, 1, 9), LocalDate: date(2026, 4, 1), Zone: "UTC", Attempt: 1,
			InputHash: w.row(certificateKey).InputHash,
		}
		if diff := cmp.Diff(wantDue, due); diff != "" {
			w.t.Error(diff)
		}
		job := w.out.jobs[0]
		wantData := `{"Source":{"Type":"employee","ID":"7"},"TargetDate":"2026-05-01","DaysBefore":30,"Key":"` + certificateKey + `"}`
		if string(job.EventData) != wantData || job.Type != "certificate" || job.BusinessUnit != "north" {
			w.t.Errorf("%+v", job)
		}
		at := notify.Coordinates{PartitionKey: "7", RowKey: keys.AutomationRowKey(certificateKey)}
		row := w.row(certificateKey)
		got, err := row.Dispatched()
		want := notify.DispatchResult{
			Path: notify.PathDirectReminder, AutomationJob: at, Notification: at, Summary: "recipients: 1",
			Scheduler: strings.Join([]string{"NotificationJob", "7", at.RowKey, "certificate"}, "\x1f"),
		}
		_, want.OutgoingMessages = w.out.PlannedMessages(job.Type, job.RowKey, job.SourceOn, job.Recipients)
		if len(want.OutgoingMessages) != 1 || want.OutgoingMessages[0].PartitionKey != at.RowKey {
			w.t.Errorf("its message is %+v", want.OutgoingMessages)
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			w.t.Error(err, diff)
		}
		if row.Status != automation.StatusCompleted || !row.EndedOn.Equal(day(2026, 4, 1, 9)) || !row.DueOn.IsZero() || !row.LeaseExpiresOn.IsZero() {
			w.t.Errorf("%+v", row)
		}
	})
}

// What is no longer valid is an outcome: Deactivated with its reason, and no try
// is counted.
func TestI18_WhatIsNoLongerValidIsDeactivatedAndNoFailure(t *testing.T) {
	for want, change := range map[automation.Reason]func(*automation.ReminderType){
		reasons.SourceNoLongerValid: func(t *automation.ReminderType) {
			t.Validator = automation.ValidatorFunc(func(context.Context, automation.Due) (automation.Validity, error) { return automation.Validity{}, nil })
		},
		reasons.TooLate: func(t *automation.ReminderType) { t.Lateness.Window = time.Hour },
		reasons.NoRecipients: func(t *automation.ReminderType) {
			t.Recipients = automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) { return nil, nil })
		},
		reasons.SkippedByPolicy: func(t *automation.ReminderType) {
			t.Policy = automation.DeliveryPolicyFunc(func(context.Context, automation.Due, []notify.Recipient) ([]notify.Recipient, error) { return nil, nil })
		},
	} {
		t.Run(string(want), func(t *testing.T) {
			eachWorld(t, func(w *world) {
				w.s.Register(certificates(change))
				w.ensure(candidate(nil))
				w.pollAt(day(2026, 4, 1, 11))
				w.checkEnded(certificateKey, want)
			})
		})
	}
	t.Run(string(reasons.ReminderSettingInactive), func(t *testing.T) {
		t.Parallel()
		each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
			settings := settingsMap{"certificate": true}
			w := newWorld(t, store, clk, &automation.Options{Settings: settings})
			w.s.Register(certificates(nil))
			w.ensure(candidate(nil))
			delete(settings, "certificate")
			w.pollAt(day(2026, 4, 1, 11))
			w.checkEnded(certificateKey, reasons.ReminderSettingInactive)
		})
	})
}

func (w *world) checkEnded(key string, why automation.Reason) {
	w.t.Helper()
	row := w.row(key)
	got, err := row.Dispatched()
	if row.Status != automation.StatusDeactivated || row.ReasonCode != why || row.RetryCount != 0 || row.IsOnSupportHold || !row.DueOn.IsZero() {
		w.t.Errorf("%+v", row)
	}
	if diff := cmp.Diff(notify.DispatchResult{Path: notify.PathSkipped, SkippedReason: string(why)}, got); err != nil || diff != "" {
		w.t.Error(err, diff)
	}
	if got := w.out.dispatched(); len(got) != 0 {
		w.t.Errorf("dispatched %v", got)
	}
}

func TestAChangedSourceIsAskedForWhatItWantsNow(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.withTriggers(nil).set(offsets(date(2026, 6, 1), 30, 60)...)
		w.ensure(candidate(nil))
		w.pollAt(day(2026, 4, 1, 9))
		want := map[string]string{
			certificateKey: "Deactivated InputChanged",
			"reminder:certificate:employee:7:default:2026-06-01:60": "Pending",
			"reminder:certificate:employee:7:default:2026-06-01:30": "Pending",
		}
		if diff := cmp.Diff(want, w.statuses()); diff != "" || len(w.out.dispatched()) != 0 {
			w.t.Error(diff)
		}
		w.pollAt(day(2026, 4, 2, 9)) // its candidates are as they were: it goes out
		if got := w.out.dispatched(); !slices.Equal(got, []string{"reminder:certificate:employee:7:default:2026-06-01:60"}) {
			w.t.Error(got)
		}
	})
}

func TestAChangedInputUnderTheSameKeyIsHeldAndNeverOverwritten(t *testing.T) {
	eachWorld(t, func(w *world) {
		c := offsets(date(2026, 5, 1), 30)
		c[0].Identity = map[string]string{"course": "b"}
		w.withTriggers(nil).set(c...)
		w.ensure(candidate(nil))
		before := w.row(certificateKey)
		w.pollAt(day(2026, 4, 1, 9))
		if diff := cmp.Diff(map[string]string{certificateKey: "Deactivated InputChanged held InputConflict"}, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
		if w.row(certificateKey).InputHash != before.InputHash {
			w.t.Error("the hash was overwritten")
		}
	})
}

func TestThePolicyHasTheLastWordAndSeesTheSetting(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		w := newWorld(t, store, clk, &automation.Options{Settings: batchSettings{settingsMap{"certificate": true}}})
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Policy = automation.DeliveryPolicyFunc(func(_ context.Context, d automation.Due, to []notify.Recipient) ([]notify.Recipient, error) {
				to[0].Channel, to[0].Inbox, to[0].Name = "", "user:sam", d.Setting.Data.(string)
				return to, nil
			})
		}))
		w.ensure(candidate(nil))
		w.pollAt(day(2026, 4, 1, 9))
		row := w.row(certificateKey)
		got, _ := row.Dispatched()
		if got.Path != notify.PathUIOnlyReminder || w.out.jobs[0].Recipients[0].Name != "data of certificate" {
			t.Errorf("%+v %+v", got, w.out.jobs[0])
		}
	})
}

type batchSettings struct{ settingsMap }

func (b batchSettings) Settings(ctx context.Context, scope automation.Scope, ids []string) ([]automation.Setting, error) {
	var out []automation.Setting
	for _, id := range ids {
		if id == "bad" && !b.settingsMap[id] {
			return nil, errBoom
		}
		s, _ := b.Setting(ctx, scope, id)
		out = append(out, s)
	}
	return out, nil
}

func TestOneBadSettingFailsItsOwnRowsOnly(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		settings := settingsMap{"good": true, "bad": true, "off": true}
		w := newWorld(t, store, clk, &automation.Options{Settings: batchSettings{settings}})
		w.s.Register(certificates(nil))
		for _, setting := range []string{"bad", "good", "off"} {
			w.ensure(candidate(func(c *automation.Candidate) { c.Setting = setting }))
		}
		settings["bad"], settings["off"] = false, false
		w.pollAt(day(2026, 4, 1, 9))
		k := func(s string) string { return "reminder:" + s + ":employee:7:default:2026-05-01:30" }
		want := map[string]string{k("bad"): "Pending HandlerFailed", k("good"): "Completed", k("off"): "Deactivated ReminderSettingInactive"}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			t.Error(diff)
		}
	})
}

// batchRecipients answers for all rows at once and cannot stand source 13.
type batchRecipients struct{ calls *[]int }

func (b batchRecipients) Recipients(context.Context, automation.Due) ([]notify.Recipient, error) {
	panic("the batch form is asked")
}

func (b batchRecipients) RecipientsOf(_ context.Context, due []automation.Due) ([][]notify.Recipient, error) {
	*b.calls = append(*b.calls, len(due))
	out := make([][]notify.Recipient, len(due))
	for i, d := range due {
		if d.Source.ID == "13" {
			panic("thirteen")
		}
		out[i] = []notify.Recipient{sam}
	}
	return out, nil
}

func TestABatchOfRecipientsIsAskedForOnceUnlessARowSpoilsIt(t *testing.T) {
	eachWorld(t, func(w *world) {
		var calls []int
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Recipients = batchRecipients{&calls} }))
		for n := range 5 {
			w.ensure(candidate(func(c *automation.Candidate) { c.Source.ID = fmt.Sprint(n) }))
		}
		w.pollAt(day(2026, 4, 1, 9))
		if !slices.Equal(calls, []int{5}) {
			w.t.Error(calls)
		}
		for _, id := range []string{"11", "12", "13"} {
			w.ensure(candidate(func(c *automation.Candidate) { c.Source.ID = id }))
		}
		w.poll()
		bad := w.row("reminder:certificate:employee:13:default:2026-05-01:30")
		if !slices.Equal(calls, []int{5, 3, 1, 1, 1}) || len(w.out.dispatched()) != 7 || bad.ReasonCode != reasons.HandlerPanicked || bad.Status != automation.StatusPending {
			w.t.Errorf("%v %v %+v", calls, w.out.dispatched(), bad)
		}
	})
}

// The delivery artifact stands for something else: the row is on hold, and the
// rest of the batch goes out.
func TestAConflictOfDeliveryHoldsItsRowOnly(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(candidate(nil), candidate(func(c *automation.Candidate) { c.Source.ID = "8" }))
		_, err := w.out.Notifier.EnsureNotificationJob(w.ctx, nil, notify.Job{
			Type: "certificate", PartitionKey: "7", RowKey: keys.AutomationRowKey(certificateKey), InputHash: "another",
		})
		if err != nil {
			w.t.Fatal(err)
		}
		w.pollAt(day(2026, 4, 1, 9))
		want := map[string]string{
			certificateKey: "Failed DeliveryConflict held DeliveryConflict",
			"reminder:certificate:employee:8:default:2026-05-01:30": "Completed",
		}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
		row := w.row(certificateKey)
		if got, _ := row.Dispatched(); got.ConflictReason != reasons.DeliveryConflict || !strings.Contains(row.HoldDetail, "NotificationJob 7") {
			w.t.Errorf("%+v %q", got, row.HoldDetail)
		}
		if err := w.s.Support().Cancel(w.ctx, "", certificateKey, ann); err != nil {
			w.t.Error(err)
		}
	})
}

// Nothing was delivered, so the guard does not say so: the old scheduler may have the run.
func TestAGuardedRunWhoseDeliveryIsInConflictStaysOwned(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Guarded = true }))
		for _, stage := range []cutover.Stage{cutover.StageShadow, cutover.StageRunNow, cutover.StageScheduled} {
			if _, err := w.s.Rollout().MoveRollout(w.ctx, cutover.Part{Type: "certificate"}, stage, ann, nil); err != nil {
				w.t.Fatal(err)
			}
		}
		w.ensure(candidate(nil))
		_, err := w.out.Notifier.EnsureNotificationJob(w.ctx, nil, notify.Job{
			Type: "certificate", PartitionKey: "7", RowKey: keys.AutomationRowKey(certificateKey), InputHash: "another",
		})
		if err != nil {
			w.t.Fatal(err)
		}
		w.pollAt(day(2026, 4, 1, 9))
		o, err := w.s.Rollout().Ownership(w.ctx, "", certificateKey)
		if err != nil || o.Owner != cutover.AutomationScheduler || o.Status != cutover.Owned {
			w.t.Errorf("%+v, %v", o, err)
		}
		if err := w.s.Rollout().TransferOwnership(w.ctx, "", certificateKey, cutover.OldScheduler, ann); err != nil {
			w.t.Error(err)
		}
		got, err := w.s.Rollout().DeliverForOldScheduler(w.ctx, "", cutover.OldRun{Key: certificateKey})
		if err != nil || !got[0].Granted {
			w.t.Errorf("%+v, %v", got, err)
		}
	})
}
