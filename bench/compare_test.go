package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/internal/pgtest"
)

// goals are those that the comparison promises, in their order.
var goals = []string{"P1", "P1-pgx", "P2", "P2-pgx", "P3-new", "P3-new-pgx", "P3-existing", "P4-goqite", "P4-river", "P5", "P6", "P7", "P11", "P12"}

// tiny is enough to see that a match is played, not to believe its figures.
var tiny = sizes{rounds: 1, drain: 300, sqlite: 300, samples: 3, small: 100, large: 2000, long: 300, memory: 1000, idle: 2, handlers: 20}

func TestEveryMatchIsPlayedAndEveryGoalJudgedOnce(t *testing.T) {
	t.Parallel()
	a := fakeArena(t)
	a.server = pgtest.New(t, &pgtest.Options{Settings: map[string]string{"log_min_messages": "error"}})
	a.sqlite = filepath.Join(a.dir, "riversqlite")
	if err := a.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries, err := playAll(t.Context(), a.matches(tiny), tiny.rounds, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(a.dir, "goals.json")
	if err := writeJSON(path, entries); err != nil {
		t.Fatal(err)
	}
	var judged []string
	for _, e := range decoded(t, path) {
		judged = append(judged, e["goal"].(string))
		checkEntry(t, e)
	}
	if !slices.Equal(judged, goals) {
		t.Errorf("goals %v, want %v", judged, goals)
	}
	checkHarm(t, entries)
	if err := draw(path, a.dir); err != nil {
		t.Error(err)
	}
}

func decoded(t *testing.T, path string) (objects []map[string]any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &objects); err != nil {
		t.Fatal(err)
	}
	return objects
}

// checkEntry looks for what a reader of the JSON may rely on.
func checkEntry(t *testing.T, e map[string]any) {
	t.Helper()
	for _, name := range []string{"belfry", "peer_value", "ratio", "rounds", "floor", "target"} {
		if v, ok := e[name].(float64); !ok || v <= 0 || math.IsInf(v, 0) || math.IsNaN(v) {
			t.Errorf("%v: %s is %v", e["goal"], name, e[name])
		}
	}
	for _, name := range []string{"peer", "unit", "about"} {
		if v, ok := e[name].(string); !ok || v == "" {
			t.Errorf("%v: %s is %v", e["goal"], name, e[name])
		}
	}
}

// checkHarm looks at what is true whatever the sizes are.
func checkHarm(t *testing.T, entries []entry) {
	t.Helper()
	p2, err := goalOf(entries, "P2")
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := p2.Also["eight_processes_double_claims"]; !ok || n != 0 {
		t.Errorf("double claims: %v", p2.Also)
	}
	if n, ok := p2.Also["eight_processes_deadlocks"]; !ok || n != 0 {
		t.Errorf("deadlocks: %v", p2.Also)
	}
	if p2.Also["eight_processes_rows/s"] <= 0 {
		t.Errorf("no rate of eight processes: %v", p2.Also)
	}
}

func TestAMatchIsPickedByItsName(t *testing.T) {
	t.Parallel()
	matches := []match{{title: "P1"}, {title: "P2"}, {title: "P12"}}
	for names, want := range map[string]string{"": "P1 P2 P12", "P12": "P12", "P1,P2": "P1 P2", "P2 P1": "P2 P1"} {
		picked, err := pick(matches, names)
		var titles []string
		for _, m := range picked {
			titles = append(titles, m.title)
		}
		if got := strings.Join(titles, " "); err != nil || got != want {
			t.Errorf("%q picks %s, %v; want %s", names, got, err, want)
		}
	}
	if _, err := pick(matches, "P1,P99"); err == nil || !strings.Contains(err.Error(), "P99") {
		t.Errorf("an unknown name: %v", err)
	}
}
