package automation

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
)

var start = storetest.Start

// Ensure decides on the deciding columns of what is stored, and answers with
// them; both must be as if it had read the row whole.
//
//spec:a-030
func TestOnlyDecidingColumnsDecide(t *testing.T) {
	t.Parallel()
	for _, status := range []string{StatusPending, StatusProcessing, StatusCompleted, StatusFailed, StatusDeactivated, StatusCancelled} {
		for _, change := range []func(stored *Schedule){
			func(*Schedule) {},
			func(r *Schedule) { r.InputHash = "other" },
			func(r *Schedule) { r.ScheduledOn = start.Add(time.Hour) },
			func(r *Schedule) { r.LocalDate = "2026-03-02" },
			func(r *Schedule) { r.SendAt = "17:00" },
			func(r *Schedule) { r.TimeZone = "Europe/Paris" },
			func(r *Schedule) { r.GapPolicy = GapSkip },
			func(r *Schedule) { r.OverlapPolicy = OverlapFirst },
			func(r *Schedule) { r.Type = "other" },
		} {
			for _, held := range []bool{false, true} {
				whole := everything()
				whole.Status, whole.IsOnSupportHold = status, held
				change(whole)
				decidesAlike(t, whole)
			}
		}
	}
}

func decidesAlike(t *testing.T, whole *Schedule) {
	t.Helper()
	part := &Schedule{Record: storage.Record{ID: whole.ID, Scope: whole.Scope, Key: whole.Key}}
	for _, name := range deciding {
		c := schedules.Column(name)
		c.Field(part).Set(c.Field(whole))
	}
	want, decide := everything(), decideAt(start)
	outcome, write := decide(whole, want)
	gotOutcome, gotWrite := decide(part, want)
	if gotOutcome != outcome || gotWrite != write {
		t.Errorf("%s: %s, %t by a part of the row; %s, %t by the whole", whole.Status, gotOutcome, gotWrite, outcome, write)
	}
	if diff := cmp.Diff(answer(outcome, whole, want), answer(outcome, part, want)); diff != "" {
		t.Errorf("%s (-whole +part):\n%s", whole.Status, diff)
	}
}

// A row that Ensure inserted and nobody wrote since is decided on by the wanted
// row, if that has its deciding columns.
func TestAnUntouchedRowIsDecidedOnByTheWantedOne(t *testing.T) {
	t.Parallel()
	for what, shape := range map[string]func(*Schedule){
		"Pending":     func(r *Schedule) { r.Status, r.ReasonCode = StatusPending, "" },
		"in shadow":   func(r *Schedule) { r.shade(start) },
		"a condition": func(r *Schedule) { r.Status, r.TriggerType = StatusPending, ThresholdCondition },
		"by hand":     func(r *Schedule) { r.Status, r.TriggerType = StatusPending, ManualRun },
	} {
		stored, want := everything(), everything()
		for _, r := range []*Schedule{stored, want} {
			shape(r)
			r.IsOnSupportHold, r.HoldReason, r.DispatchResult = false, "", nil
		}
		want.ID, want.Version, want.Lane, want.CreatedOn = 0, 0, 0, start.Add(time.Hour)
		want.EventType, want.EventID, want.HoldDetail = "another", "8", ""
		known, decide := *want, decideSeriesAt(start)
		outcome, write := decide(stored, want)
		gotOutcome, gotWrite := decide(&known, want)
		if gotOutcome != outcome || gotWrite != write || outcome != storage.Unchanged || write {
			t.Errorf("%s: %s, %t by the wanted row; %s, %t by the stored one", what, gotOutcome, gotWrite, outcome, write)
		}
		if diff := cmp.Diff(answer(outcome, stored, want), answer(outcome, &known, want)); diff != "" {
			t.Errorf("%s (-stored +wanted):\n%s", what, diff)
		}
	}
}

// everything is a row with a value in every column.
func everything() *Schedule {
	return &Schedule{
		Record: storage.Record{
			ID: 1, Scope: "s", Key: "k", Type: "t", Status: "S", Version: 2, Lane: -1,
			DueOn: start, LeaseExpiresOn: start.Add(time.Minute), ClaimToken: "c", Abandoned: true,
		},
		AutomationType: "a", TriggerType: DateBased, BusinessUnit: "north", Setting: "set", SourceType: "course", Source: "1",
		TriggerKey: "default", TargetDate: "2026-05-01", DaysBefore: 3, InputHash: "hash", CreatedOn: start,
		ScheduledOn: start, LocalDate: "2026-03-01", SendAt: "09:00", TimeZone: "Europe/Dublin",
		GapPolicy: GapForward, OverlapPolicy: "second",
		NextRetryOn: start, RetryCount: 1, LeaseLossCount: 2, EndedOn: start, ReasonCode: HandlerFailed, Diagnostics: "boom",
		IsOnSupportHold: true, HoldReason: HeldBySupport, HoldDetail: "by hand", EventType: "changed", EventID: "7",
		DispatchResult: json.RawMessage(`{"scheduler":"guard"}`), TraceBlobName: "blob",
	}
}
