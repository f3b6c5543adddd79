package storage_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage"
)

func TestConditionsAreCanonical(t *testing.T) {
	t.Parallel()
	type name string
	type number int16
	type flag bool
	cork := time.FixedZone("", 3600)
	for _, c := range []struct {
		got  storage.Cond
		want storage.Cond
	}{
		{storage.Eq("c", name("x")), storage.Cond{Column: "c", Op: storage.OpEq, Value: "x"}},
		{storage.Less("c", number(-3)), storage.Cond{Column: "c", Op: storage.OpLess, Value: int64(-3)}},
		{storage.AtMost("c", 3), storage.Cond{Column: "c", Op: storage.OpAtMost, Value: int64(3)}},
		{storage.Greater("c", flag(true)), storage.Cond{Column: "c", Op: storage.OpGreater, Value: true}},
		{storage.AtLeast("c", noon.In(cork).Add(999)), storage.Cond{Column: "c", Op: storage.OpAtLeast, Value: noon}},
		{storage.In("c", []name{"x", "y"}), storage.Cond{Column: "c", Op: storage.OpIn, Value: []string{"x", "y"}}},
		{storage.In("c", []int64{1}), storage.Cond{Column: "c", Op: storage.OpIn, Value: []int64{1}}},
		{storage.In[name]("c", nil), storage.Cond{Column: "c", Op: storage.OpIn, Value: []string{}}},
		{storage.Null("c"), storage.Cond{Column: "c", Op: storage.OpNull}},
		{storage.NotNull("c"), storage.Cond{Column: "c", Op: storage.OpNotNull}},
		{storage.Any(storage.Null("c")), storage.Cond{Op: storage.OpAny, Conds: []storage.Cond{{Column: "c", Op: storage.OpNull}}}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("condition (-want +got):\n%s", diff)
		}
	}
	if got := storage.Eq("c", noon.In(cork)).Value.(time.Time).Location(); got != time.UTC {
		t.Errorf("location is %v", got)
	}
}

func TestAConditionWithAnImpossibleValuePanics(t *testing.T) {
	t.Parallel()
	panics(t, "condition with a float64", func() { storage.Eq("c", 1.5) })
	panics(t, "condition with a []uint8", func() { storage.Less("c", []byte("x")) })
	panics(t, "condition with a <nil>", func() { storage.Eq("c", nil) })
}

func TestCursorComesBeforeWhatIsBehindIt(t *testing.T) {
	t.Parallel()
	c := storage.Cursor{DueOn: noon, ID: 5}
	for _, at := range []struct {
		due  time.Time
		id   int64
		want bool
	}{
		{noon, 4, false}, {noon, 5, false}, {noon, 6, true},
		{noon.Add(-1), 6, false}, {noon.Add(1), 1, true},
		{noon.In(time.FixedZone("", 3600)), 5, false},
	} {
		if got := c.Before(at.due, at.id); got != at.want {
			t.Errorf("before (%v, %d): %t", at.due, at.id, got)
		}
	}
	if !(storage.Cursor{}).Before(noon, 1) {
		t.Error("the zero cursor is not the start")
	}
}
