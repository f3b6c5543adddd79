package automation

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify"
)

// What handling does to a row is settled without the planned columns, so it must
// not need them.
func TestHandlingChangesNothingThatWasPlanned(t *testing.T) {
	t.Parallel()
	later := start.Add(time.Hour)
	for name, change := range map[string]func(r *Schedule){
		"complete":        func(r *Schedule) { r.complete(later, notify.DispatchResult{Scheduler: "other"}) },
		"skip":            func(r *Schedule) { r.skip(later, TooLate) },
		"give back":       func(r *Schedule) { r.giveBack(later) },
		"fail":            func(r *Schedule) { r.fail(later, errors.New("boom"), false) },
		"fail for good":   func(r *Schedule) { r.fail(later, Permanent(errors.New("boom")), true) },
		"lose":            func(r *Schedule) { r.lose(later, false) },
		"not be decoded":  func(r *Schedule) { r.undecodable(later, errors.New("boom")) },
		"give up":         func(r *Schedule) { r.giveUp(later, DeliveryConflict) },
		"yield":           func(r *Schedule) { r.yield(later, "owned by the old side") },
		"follow the plan": func(r *Schedule) { r.ScheduledOn = later },
	} {
		before, row := everything(), everything()
		before.Status, row.Status = StatusProcessing, StatusProcessing
		change(row)
		if cmp.Equal(before, row) {
			t.Errorf("%s changes nothing", name)
		}
		if changed := plannedDiffer(before, row); changed != (name == "follow the plan") {
			t.Errorf("%s changes what was planned: %t", name, changed)
		}
	}
}

func plannedDiffer(a, b *Schedule) (differ bool) {
	va, vb := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for _, f := range reflect.VisibleFields(va.Type()) {
		if strings.Contains(f.Tag.Get("db"), ",planned") {
			differ = differ || !cmp.Equal(va.FieldByIndex(f.Index).Interface(), vb.FieldByIndex(f.Index).Interface())
		}
	}
	return differ
}
