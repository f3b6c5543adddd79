package driver_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage/driver"
)

func TestConditionsAreCanonical(t *testing.T) {
	t.Parallel()
	type name string
	type number int16
	type flag bool
	cork := time.FixedZone("", 3600)
	for _, c := range []struct {
		got  driver.Cond
		want driver.Cond
	}{
		{driver.Eq("c", name("x")), driver.Cond{Column: "c", Op: driver.OpEq, Value: "x"}},
		{driver.Less("c", number(-3)), driver.Cond{Column: "c", Op: driver.OpLess, Value: int64(-3)}},
		{driver.AtMost("c", 3), driver.Cond{Column: "c", Op: driver.OpAtMost, Value: int64(3)}},
		{driver.Greater("c", flag(true)), driver.Cond{Column: "c", Op: driver.OpGreater, Value: true}},
		{driver.AtLeast("c", noon.In(cork).Add(999)), driver.Cond{Column: "c", Op: driver.OpAtLeast, Value: noon}},
		{driver.In("c", []name{"x", "y"}), driver.Cond{Column: "c", Op: driver.OpIn, Value: []string{"x", "y"}}},
		{driver.In("c", []int64{1}), driver.Cond{Column: "c", Op: driver.OpIn, Value: []int64{1}}},
		{driver.In[name]("c", nil), driver.Cond{Column: "c", Op: driver.OpIn, Value: []string{}}},
		{driver.Null("c"), driver.Cond{Column: "c", Op: driver.OpNull}},
		{driver.NotNull("c"), driver.Cond{Column: "c", Op: driver.OpNotNull}},
		{driver.Any(driver.Null("c")), driver.Cond{Op: driver.OpAny, Conds: []driver.Cond{{Column: "c", Op: driver.OpNull}}}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("condition (-want +got):\n%s", diff)
		}
	}
	if got := driver.Eq("c", noon.In(cork)).Value.(time.Time).Location(); got != time.UTC {
		t.Errorf("location is %v", got)
	}
}

func TestAConditionWithAnImpossibleValuePanics(t *testing.T) {
	t.Parallel()
	panics(t, "condition with a float64", func() { driver.Eq("c", 1.5) })
	panics(t, "condition with a []uint8", func() { driver.Less("c", []byte("x")) })
	panics(t, "condition with a <nil>", func() { driver.Eq("c", nil) })
}

func TestCursorComesBeforeWhatIsBehindIt(t *testing.T) {
	t.Parallel()
	c := driver.Cursor{DueOn: noon, ID: 5}
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
	if !(driver.Cursor{}).Before(noon, 1) {
		t.Error("the zero cursor is not the start")
	}
}
