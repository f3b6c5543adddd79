package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// player is a side that writes its name down and scores how often it has played.
func player(name string, long bool, played *[]string) side {
	n := 0.0
	return side{name: name, long: long, play: func(context.Context) (map[string]float64, error) {
		*played = append(*played, name)
		n++
		return map[string]float64{"n": n}, nil
	}}
}

func TestTheOrderIsTurnedRoundAfterAWarmUp(t *testing.T) {
	t.Parallel()
	var played []string
	m := match{title: "T", sides: []side{player("a", false, &played), player("b", false, &played)}}
	all, err := m.rounds(t.Context(), 3, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(played, ""); got != "ab"+"ab"+"ba"+"ab" {
		t.Errorf("order %s, want abab, then ba, then ab", got)
	}
	if got := all["b"]["n"]; !slices.Equal(got, []float64{2, 3, 4}) {
		t.Errorf("scores %v: the warm-up counts, or a round does not", got)
	}
}

func TestLongWorkHasFewRoundsAndNoWarmUp(t *testing.T) {
	t.Parallel()
	var played []string
	m := match{title: "T", sides: []side{player("a", true, &played), player("b", false, &played)}}
	all, err := m.rounds(t.Context(), 5, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := len(all["a"]["n"]), len(all["b"]["n"]); a != longRounds || b != 5 {
		t.Errorf("%d and %d rounds, want %d and 5", a, b, longRounds)
	}
	if got := all["a"]["n"][0]; got != 1 {
		t.Errorf("the first score is of play %v", got)
	}
}

func TestAFailedRoundSaysWhoseItWas(t *testing.T) {
	t.Parallel()
	reason := errors.New("no luck")
	m := match{title: "T", sides: []side{{name: "a", play: func(context.Context) (map[string]float64, error) { return nil, reason }}}}
	_, err := m.rounds(t.Context(), 1, io.Discard)
	if !errors.Is(err, reason) || !strings.HasPrefix(err.Error(), "T: a: ") {
		t.Errorf("err = %v", err)
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0}, {[]float64{7}, 7}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 3, 2}, 2.5},
	} {
		if got := median(c.values); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}

func TestFiguresHaveThreeDigitsThatCount(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "0", 0.012345: "0.0123", 1.2345: "1.23", 9.999: "10", 12.345: "12.3", 999.94: "999.9", 1234.5: "1234", 1e6: "1000000",
	} {
		if got := figure(v); got != want {
			t.Errorf("figure(%v) = %s, want %s", v, got, want)
		}
	}
	if got := line(map[string]float64{"b": 2, "a": 1500}); got != " a 1500 b 2" {
		t.Errorf("line = %q", got)
	}
}
