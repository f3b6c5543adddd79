package work

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/belfry-go/belfry/storage/driver"
)

func threeLanes() lanes { return newLanes(map[int16]int{-1: 8, 0: 4, 1: 1}) }

func TestShareGivesTheBatchByWeightUrgentFirst(t *testing.T) {
	t.Parallel()
	want := []driver.LaneClaim{{Lane: -1, Limit: 80}, {Lane: 0, Limit: 40}, {Lane: 1, Limit: 10}}
	if diff := cmp.Diff(want, threeLanes().share(130)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]driver.LaneClaim{{Lane: -1, Limit: 1}}, threeLanes().share(1)); diff != "" {
		t.Error(diff)
	}
}

func TestShareNeverStarvesALaneHoweverSmallTheBatch(t *testing.T) {
	t.Parallel()
	ls, got := threeLanes(), map[int16]int{}
	for range 130 {
		for _, c := range ls.share(1) {
			got[c.Lane]++
		}
	}
	if diff := cmp.Diff(map[int16]int{-1: 80, 0: 40, 1: 10}, got); diff != "" {
		t.Error(diff)
	}
}

func TestShareOnlyProbesALaneThatWasShort(t *testing.T) {
	t.Parallel()
	ls := threeLanes()
	for _, l := range ls {
		l.short = true
	}
	ls.get(0).got = 1
	for _, c := range ls.share(512) {
		if want := map[int16]int{-1: 16, 0: 480, 1: 16}[c.Lane]; c.Limit != want {
			t.Errorf("lane %d gets %d, want %d: only lane 0 had rows", c.Lane, c.Limit, want)
		}
	}
}

func TestShareGivesExactlyWhatThereIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ls := threeLanes()
		for _, l := range ls {
			l.short, l.got = rapid.Bool().Draw(t, "short"), rapid.IntRange(0, 900).Draw(t, "got")
		}
		for range rapid.IntRange(1, 20).Draw(t, "claims") {
			n, sum := rapid.IntRange(1, 700).Draw(t, "n"), 0
			for _, c := range ls.share(n) {
				sum += c.Limit
			}
			if sum != n {
				t.Fatalf("shared %d of %d", sum, n)
			}
		}
	})
}
