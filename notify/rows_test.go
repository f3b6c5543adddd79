package notify

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// answers are the fields that hosts get and do not give.
var answers = []string{"Key", "Status", "DueOn", "CreatedOn", "ForgottenOn", "Diagnostics", "Tries", "SupportHold", "SnoozedUntil", "SeenOn", "ReadOn", "ArchivedOn", "EscalatedOn"}

// forRenderers are those that hosts neither give nor get.
var forRenderers = []string{"Entries", "More"}

// sameFields compares what a host gives and gets with the row: whatever is given is
// kept, whatever is an answer is ignored on the way in, and every answer comes from
// the row.
func sameFields[P, R any](t *testing.T, row func(*P) R, view func(*R) P) {
	t.Helper()
	var given P
	of := reflect.ValueOf(&given).Elem()
	fill(t, of)
	stored := row(&given)
	for i := range of.NumField() {
		if name := of.Type().Field(i).Name; slices.Contains(answers, name) || slices.Contains(forRenderers, name) {
			of.Field(i).SetZero()
		}
	}
	if diff := cmp.Diff(given, view(&stored)); diff != "" {
		t.Errorf("%T: given and got (-given +got):\n%s", given, diff)
	}
	fill(t, reflect.ValueOf(&stored).Elem())
	got := reflect.ValueOf(view(&stored))
	for i := range got.NumField() {
		if name := got.Type().Field(i).Name; got.Field(i).IsZero() && !slices.Contains(forRenderers, name) {
			t.Errorf("%T: no row shows its %s", given, name)
		}
	}
}

// fill gives a field, and those in it, something that is not zero.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Type() {
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(now))
		return
	case reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte("{}"))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("text")
	case reflect.Int, reflect.Int16, reflect.Int64:
		v.SetInt(7)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() || f.Anonymous {
				fill(t, v.Field(i))
			}
		}
	default:
		t.Fatalf("no value for %s", v.Type())
	}
}

func TestWhatAHostGivesIsWhatItGetsBack(t *testing.T) {
	t.Parallel()
	sameFields(t, (*Job).row, (*jobRow).view)
	sameFields(t, (*Schedule).row, (*scheduleRow).view)
	sameFields(t, (*MessagingJob).row, (*messagingJobRow).view)
	sameFields(t, (*AutomationJob).row, (*automationJobRow).view)
	sameFields(t, (*UserMessage).row, (*userMessageRow).view)
}
