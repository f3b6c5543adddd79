package automation

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation/dst"
	"github.com/belfry-go/belfry/internal/states"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// From every status a terminal one, or a hold, can be reached in the table.
func TestI15_EveryStatusCanEnd(t *testing.T) {
	t.Parallel()
	for _, from := range machine.States() {
		reached := []string{from}
		for i := 0; i < len(reached); i++ {
			for _, e := range machine.Edges {
				if e.From == reached[i] && !slices.Contains(reached, e.To) {
					reached = append(reached, e.To)
				}
			}
		}
		if !slices.Contains(reached, StatusCompleted) && from != StatusCompleted {
			t.Errorf("%s ends nowhere", from)
		}
	}
	for _, e := range machine.Edges {
		if e.From == StatusCompleted {
			t.Errorf("I-4: Completed goes to %s", e.To)
		}
	}
}

// Every illegal transition is refused by the methods themselves.
func TestI16_ATransitionThatIsNotInTheTablePanics(t *testing.T) {
	t.Parallel()
	for _, from := range machine.States() {
		for _, to := range machine.States() {
			r := &scheduleRow{}
			r.Status = from
			got := panics(t, func() { r.to(start, to) })
			if legal := machine.Legal(from, to); legal != (got == "" || got == "<nil>") {
				t.Errorf("%s to %s: %s", from, to, fmt.Sprint(got))
			}
		}
	}
}

// Every edge of the table is taken in these tests, and the table refuses others.
func TestI16_OwnershipKeepsToItsTable(t *testing.T) {
	t.Parallel()
	legal := map[string]bool{}
	for _, e := range ownershipMachine.Edges {
		legal[e.From+" to "+e.To] = true
	}
	for _, from := range ownershipMachine.States() {
		for _, to := range ownershipMachine.States() {
			o := &ownership{}
			o.Status = from
			got := panics(t, func() { MoveOwner(o, start, to) })
			if want := from == to || legal[from+" to "+to]; want != (got == "" || got == "<nil>") {
				t.Errorf("%s to %s: %s", from, to, got)
			}
		}
	}
	if diff := cmp.Diff([]states.Machine{machine, ownershipMachine}, States()); diff != "" {
		t.Error(diff)
	}
}

// panics returns what f panics with, as text.
func panics(t *testing.T, f func()) (text string) {
	t.Helper()
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}

// Every code in the group of holds is one that Health counts, those of messages aside.
func TestHealthKnowsEveryReasonOfAHold(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "../reasons/reasons.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	ofMessages := []Reason{reasons.Conflict, reasons.Refused, reasons.OutcomeUnknown}
	codes := []Reason{reasons.CancelledBySupport}
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || !strings.HasPrefix(group.Doc.Text(), "Holds.") {
			continue
		}
		for _, spec := range group.Specs {
			code, err := strconv.Unquote(spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(ofMessages, code) {
				codes = append(codes, code)
			}
		}
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(codes)), slices.Sorted(slices.Values(holdReasons))); diff != "" || len(codes) == 1 {
		t.Errorf("the codes (-) and what is counted (+): %s", diff)
	}
}

var start = storetest.Start

// Ensure decides on the deciding columns of what is stored, and answers with
// them; both must be as if it had read the row whole.
func TestOnlyDecidingColumnsDecide(t *testing.T) {
	t.Parallel()
	for _, status := range []string{StatusPending, StatusProcessing, StatusCompleted, StatusFailed, StatusDeactivated, StatusCancelled} {
		for _, change := range []func(stored *scheduleRow){
			func(*scheduleRow) {},
			func(r *scheduleRow) { r.InputHash = "other" },
			func(r *scheduleRow) { r.ScheduledOn = start.Add(time.Hour) },
			func(r *scheduleRow) { r.LocalDate = "2026-03-02" },
			func(r *scheduleRow) { r.SendAt = "17:00" },
			func(r *scheduleRow) { r.TimeZone = "Europe/Paris" },
			func(r *scheduleRow) { r.GapPolicy = dst.GapSkip },
			func(r *scheduleRow) { r.OverlapPolicy = dst.OverlapFirst },
			func(r *scheduleRow) { r.Kind = "other" },
			func(r *scheduleRow) { r.Person = "kim" },
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

func decidesAlike(t *testing.T, whole *scheduleRow) {
	t.Helper()
	part := &scheduleRow{Due: driver.Due{Record: storage.Record{ID: whole.ID, Scope: whole.Scope, Key: whole.Key}}}
	for _, name := range deciding {
		c := schedules.Column(name)
		c.Field(part).Set(c.Field(whole))
	}
	want, decide := everything(), decideAt(start, nil)
	outcome, write := decide(whole, want)
	gotOutcome, gotWrite := decide(part, want)
	if gotOutcome != outcome || gotWrite != write {
		t.Errorf("%s: %s, %t by a part of the row; %s, %t by the whole", whole.Status, gotOutcome, gotWrite, outcome, write)
	}
	if diff := cmp.Diff(answer(outcome, whole, want), answer(outcome, part, want)); diff != "" {
		t.Errorf("%s (-whole +part):\n%s", whole.Status, diff)
	}
}

// everything is a row with a value in every column.
func everything() *scheduleRow {
	return &scheduleRow{
		Due:            driver.Due{Record: storage.Record{ID: 1, Scope: "s", Key: "k", Kind: "t", Status: "S", Version: 2}, Lane: -1, DueOn: start, LeaseExpiresOn: start.Add(time.Minute), ClaimToken: "c", Abandoned: true},
		AutomationType: "a", TriggerType: DateBased, BusinessUnit: "north", Person: "sam", Setting: "set", SourceType: "course", Source: "1",
		TriggerKey: "default", TargetDate: "2026-05-01", DaysBefore: 3, InputHash: "hash", CreatedOn: start,
		ScheduledOn: start, LocalDate: "2026-03-01", SendAt: "09:00", TimeZone: "Europe/Dublin",
		GapPolicy: dst.GapForward, OverlapPolicy: "second",
		Tries:       driver.Tries{NextRetryOn: start, RetryCount: 1, LeaseLossCount: 2, EndedOn: start, ReasonCode: reasons.HandlerFailed},
		SupportHold: driver.SupportHold{IsOnSupportHold: true, HoldReason: reasons.HeldBySupport},
		Diagnostics: "boom", HoldDetail: "by hand", EventType: "changed", EventID: "7",
		DispatchResult: json.RawMessage(`{"scheduler":"guard"}`), TraceBlobName: "blob",
	}
}

// What handling does to a row is settled without the planned columns, so it must
// not need them.
func TestHandlingChangesNothingThatWasPlanned(t *testing.T) {
	t.Parallel()
	later := start.Add(time.Hour)
	for name, change := range map[string]func(r *scheduleRow){
		"complete":        func(r *scheduleRow) { r.complete(later, notify.DispatchResult{Scheduler: "other"}) },
		"skip":            func(r *scheduleRow) { r.skip(later, reasons.TooLate) },
		"give back":       func(r *scheduleRow) { r.giveBack(later) },
		"fail":            func(r *scheduleRow) { r.fail(later, errors.New("boom"), false) },
		"fail for good":   func(r *scheduleRow) { r.fail(later, Permanent(errors.New("boom")), true) },
		"lose":            func(r *scheduleRow) { r.lose(later, false) },
		"not be decoded":  func(r *scheduleRow) { r.undecodable(later, errors.New("boom")) },
		"give up":         func(r *scheduleRow) { r.giveUp(later, reasons.DeliveryConflict) },
		"yield":           func(r *scheduleRow) { r.yield(later, reasons.OwnershipConflict, "owned by the old side", nil) },
		"follow the plan": func(r *scheduleRow) { r.ScheduledOn = later },
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

func plannedDiffer(a, b *scheduleRow) (differ bool) {
	va, vb := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for _, f := range reflect.VisibleFields(va.Type()) {
		if strings.Contains(f.Tag.Get("db"), ",planned") {
			differ = differ || !cmp.Equal(va.FieldByIndex(f.Index).Interface(), vb.FieldByIndex(f.Index).Interface())
		}
	}
	return differ
}
