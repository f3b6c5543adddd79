package automation

import (
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// What is on hold is left out by the statement and by the rule, either of which
// would do.
func TestRetentionHasTwoGuardsBeforeAHold(t *testing.T) {
	t.Parallel()
	clk := clock.NewMock()
	clk.Set(start)
	store := memory.New(&memory.Options{Clock: clk})
	s := New(store, notify.New(store, nil), nil)
	s.Register(ReminderType{
		Name: "invoice", Recipients: RecipientFunc(nil), Zone: "UTC", Retention: Retention{After: 30 * 24 * time.Hour},
	})
	made, err := s.Ensure(t.Context(), Candidate{
		Type: "invoice", Source: Source{"employee", "7"}, TargetDate: Date{Year: 2026, Month: 5, Day: 1}, DaysBefore: 30, SendAt: "09:00",
	})
	if err != nil {
		t.Fatal(err)
	}
	clk.Set(time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC))
	var row *Schedule
	err = s.store.InTx(t.Context(), func(tx storage.Tx) (err error) {
		if row, err = schedules.Get(t.Context(), tx, "", made[0].Key); err != nil {
			return err
		}
		row.deactivate(s.now(), Superseded)
		row.hold(HeldBySupport, "")
		row.DueOn = row.dueOn()
		return schedules.Save(t.Context(), tx, row)
	})
	if err != nil {
		t.Fatal(err)
	}
	clk.Set(time.Date(2028, 4, 1, 9, 0, 0, 0, time.UTC))
	types := s.registry.keepings()
	rows, _, err := s.keeper().retainPage(t.Context(), 0, s.now(), types)
	if err != nil || len(rows) != 0 {
		t.Errorf("read %d rows on hold, %v", len(rows), err)
	}
	if types["invoice"].old(row, s.now()) {
		t.Error("a row on hold counts as old")
	}
	row.IsOnSupportHold = false
	if !types["invoice"].old(row, s.now()) {
		t.Error("without the hold it does not either")
	}
}
