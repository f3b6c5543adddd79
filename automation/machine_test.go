package automation

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/states"
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
			r := &Schedule{}
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
