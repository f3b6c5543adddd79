package automation

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
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

// A transaction that does not happen makes the rows that it inserted what they
// were, so until it has ended nobody else may have their memory.
func TestPlansOfAnOpenTransactionAreNotUsedAgain(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, _ *clock.Mock) {
		s := New(store, notify.New(store, nil), nil)
		const n = 50
		about := func(what string) []Candidate {
			all := make([]Candidate, n)
			for i := range all {
				all[i] = Candidate{
					Type: "certificate", Source: Source{"employee", fmt.Sprint(what, i)}, TargetDate: Date{Year: 2026, Month: 5, Day: 1},
					DaysBefore: 30, SendAt: "09:00", Zone: "UTC",
				}
			}
			return all
		}
		undo := errors.New("undo")
		for range 20 { // a pool forgets now and then, and other tests use it
			var others []plan
			err := s.InHostTx(t.Context(), func(bound *Scheduler, _ storage.Tx) error {
				if _, err := bound.Ensure(t.Context(), about("a")...); err != nil {
					return err
				}
				var err error
				if others, err = s.planner().plans(t.Context(), about("b")); err != nil {
					return err
				}
				for i := range others {
					others[i].want.ID = int64(i + 1)
				}
				return undo
			})
			if !errors.Is(err, undo) {
				t.Fatal(err)
			}
			for i := range others {
				if others[i].want.ID != int64(i+1) {
					t.Fatalf("plan %d was changed by a transaction that it has nothing to do with", i)
				}
			}
		}
	})
}

//spec:a-078
func TestComparisonsAreExact(t *testing.T) {
	t.Parallel()
	const nearly = "0.90000000000000000000000000000000000000000000000000001"
	for comparison, want := range map[Comparison][3]bool{
		AtLeast: {false, true, true}, MoreThan: {false, false, true}, AtMost: {true, true, false}, LessThan: {true, false, false},
	} {
		for i, reading := range []string{"-0.9", "0.9", nearly} {
			if got := comparison.met(reading, "0.9"); got != want[i] {
				t.Errorf("%s %s 0.9: %v", reading, comparison, got)
			}
		}
	}
}

// A metric's attribute has few values and holds no data, so a host's own reason
// does not become one.
//
//spec:a-065
func TestAHostsReasonIsNoAttribute(t *testing.T) {
	t.Parallel()
	for reason, want := range map[Reason]string{
		Superseded: "Superseded", Invalidated: "Invalidated", "left: sam@example.com": "Host", "": "Host",
	} {
		if got := reason.word(); got != want {
			t.Errorf("%q is counted as %q, not %q", reason, got, want)
		}
	}
}
