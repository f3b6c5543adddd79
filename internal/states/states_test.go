package states_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/states"
)

var door = states.Machine{
	Name:     "Door",
	Start:    []string{"Closed"},
	Edges:    []states.Edge{{From: "Closed", To: "Open", Event: "pushed"}, {From: "Open", To: "Broken", Event: "slammed"}},
	Terminal: []string{"Broken", "Stolen"},
}

func TestOnlyTheEdgesOfTheTableAreLegal(t *testing.T) {
	t.Parallel()
	legal := map[[2]string]bool{
		{"Closed", "Open"}: true, {"Open", "Broken"}: true, {"Open", "Open"}: true,
		{"Open", "Closed"}: false, {"Broken", "Open"}: false, {"Closed", "Broken"}: false,
	}
	for pair, want := range legal {
		if got := door.Legal(pair[0], pair[1]); got != want {
			t.Errorf("%v: %v", pair, got)
		}
		if got := !panics(func() { door.Must(pair[0], pair[1]) }); got != want {
			t.Errorf("Must %v: %v", pair, got)
		}
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

func TestStatesListsEachOnceInTheOrderOfTheTable(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string{"Closed", "Open", "Broken", "Stolen"}, door.States()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
