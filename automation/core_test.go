package automation

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

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

func TestComparisonsAreExact(t *testing.T) {
	t.Parallel()
	const nearly = "0.90000000000000000000000000000000000000000000000000001"
	for comparison, want := range map[threshold.Comparison][3]bool{
		threshold.AtLeast: {false, true, true}, threshold.MoreThan: {false, false, true}, threshold.AtMost: {true, true, false}, threshold.LessThan: {true, false, false},
	} {
		for i, reading := range []string{"-0.9", "0.9", nearly} {
			if got := meets(comparison, reading, "0.9"); got != want[i] {
				t.Errorf("%s %s 0.9: %v", reading, comparison, got)
			}
		}
	}
}

// A metric's attribute has few values and holds no data, so a host's own reason
// does not become one.
func TestAHostsReasonIsNoAttribute(t *testing.T) {
	t.Parallel()
	for reason, want := range map[Reason]string{
		reasons.Superseded: "Superseded", reasons.Invalidated: "Invalidated", "left: sam@example.com": "Host", "": "Host",
	} {
		if got := countedAs(reason); got != want {
			t.Errorf("%q is counted as %q, not %q", reason, got, want)
		}
	}
}

// A host sees each column of a row in the field of its name, but for what belongs to
// a claim and to the store.
func TestAHostSeesARowWithoutItsClaim(t *testing.T) {
	t.Parallel()
	var r scheduleRow
	row := reflect.ValueOf(&r).Elem()
	fields := reflect.VisibleFields(row.Type())
	for i, f := range fields {
		if !f.Anonymous && f.IsExported() {
			row.FieldByIndex(f.Index).Set(sample(f, i))
		}
	}
	ours := []string{"ID", "Version", "LeaseExpiresOn", "ClaimToken", "Abandoned", "ErasedOn"}
	got := reflect.ValueOf(r.view())
	for _, f := range fields {
		name := f.Name
		if name == "Kind" {
			name = "Type"
		}
		seen := got.FieldByName(name)
		switch {
		case f.Anonymous || !f.IsExported():
		case slices.Contains(ours, name) == seen.IsValid():
			t.Errorf("%s: seen %v", name, seen.IsValid())
		case seen.IsValid() && !reflect.DeepEqual(seen.Interface(), row.FieldByIndex(f.Index).Interface()):
			t.Errorf("%s is %v", name, seen)
		}
	}
}

// sample is a value that no other field has.
func sample(f reflect.StructField, i int) reflect.Value {
	v := reflect.New(f.Type).Elem()
	switch v.Interface().(type) {
	case time.Time:
		return reflect.ValueOf(time.Unix(int64(i), 0))
	case json.RawMessage:
		return reflect.ValueOf(json.RawMessage(strconv.Itoa(i)))
	case bool:
		return reflect.ValueOf(true)
	}
	if v.CanInt() {
		v.SetInt(int64(i))
		return v
	}
	v.SetString(f.Name)
	return v
}
