package main

import (
	"math"
	"slices"
	"testing"

	"github.com/belfry-go/belfry/internal/contender"
)

func TestARatioAboveOneIsAheadOrInsideTheBound(t *testing.T) {
	t.Parallel()
	all := map[string]scores{us: {"x": {20, 10, 60}}, "peer": {"x": {10, 5, 40}}}
	for name, c := range map[string]struct {
		verdict     verdict
		ratio, peer float64
	}{
		"more is better": {ahead("x", "peer")(all), 2, 10},
		"less is better": {below("x", "peer")(all), 0.5, 10},
		"inside a bound": {bounded([]float64{3, 1, 2}, 3), 1.5, 3},
		"beyond a bound": {bounded([]float64{4}, 3), 0.75, 3},
	} {
		if v := c.verdict; v.ratio != c.ratio || v.peer != c.peer {
			t.Errorf("%s: ratio %v against %v, want %v against %v", name, v.ratio, v.peer, c.ratio, c.peer)
		}
	}
}

func TestThroughPgxIsAGoalOfItsOwn(t *testing.T) {
	t.Parallel()
	g := throughPgx(goal{id: "P", floor: 3, target: 4, judge: ahead("x", "river")}, "x")
	e := g.entry(g.judge(map[string]scores{us: {"x": {20}}, usOnPgx: {"x": {30}}, "river": {"x": {10}}}))
	if e.Goal != "P-pgx" || e.Ratio != 3 || e.Belfry != 30 || e.judgement() != "floor" || e.Also["times_lib/pq"] != 1.5 {
		t.Errorf("entry %+v", e)
	}
}

func TestAVerdictHasTheRangeOfBothSides(t *testing.T) {
	t.Parallel()
	v := ahead("x", "peer")(map[string]scores{us: {"x": {20, 10, 60}}, "peer": {"x": {10, 5, 40}}})
	if v.rounds != 3 || v.low != 10 || v.high != 60 || v.plow != 5 || v.phigh != 40 || v.belfry != 20 || v.name != "peer" {
		t.Errorf("verdict %+v", v)
	}
}

func TestQuotientsAreOfTheSameRounds(t *testing.T) {
	t.Parallel()
	if got := quotients([]float64{10, 30}, []float64{5, 10, 1}); !slices.Equal(got, []float64{2, 3}) {
		t.Errorf("quotients = %v", got)
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	values := []float64{5, 3, 1, 2, 4}
	for q, want := range map[float64]float64{0: 1, 0.5: 3, 0.99: 5, 1: 5} {
		if got := contender.Quantile(values, q); got != want {
			t.Errorf("Quantile(%v) = %v, want %v", q, got, want)
		}
	}
	if got := contender.Quantile(nil, 0.5); got != 0 {
		t.Errorf("of none: %v", got)
	}
}

func TestJudgements(t *testing.T) {
	t.Parallel()
	for ratio, want := range map[float64]string{1.79: "MISSED", 1.8: "floor", 2.5: "goal"} {
		if got := (entry{Ratio: ratio, Floor: 1.8, Target: 2.5}).judgement(); got != want {
			t.Errorf("%v: %s, want %s", ratio, got, want)
		}
	}
}

func TestGrowthIsJudgedByTheWorseOfBacklogAndHistory(t *testing.T) {
	t.Parallel()
	s := sizes{small: 10, large: 1000}
	v := s.grown(map[string]scores{
		"alone": {perRow: {10, 20}}, "tenth": {perRow: {11, 22}}, "backlog": {perRow: {12, 24}},
		"history": {perRow: {20, 40}}, "random": {perRow: {50, 100}},
	})
	if v.belfry != 2 || math.Abs(v.ratio-0.75) > 1e-9 {
		t.Errorf("%v times, ratio %v; want 2 and 0.75", v.belfry, v.ratio)
	}
	want := map[string]float64{
		"alone_us/row": 15, "alone_rows": 10, "tenth_backlog": 1.1, "tenth_rows": 100,
		"backlog": 1.2, "history": 2, "random_order_backlog": 5, "rows": 1000,
	}
	for name, w := range want {
		if got, ok := v.also[name]; !ok || math.Abs(got-w) > 1e-9 {
			t.Errorf("%s = %v, want %v", name, got, w)
		}
	}
}
