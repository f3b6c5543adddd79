package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// drawable are entries of all goals that the pictures show.
func drawable() []entry {
	var entries []entry
	for i, r := range peersRows {
		entries = append(entries, entry{Goal: r.goal, Belfry: 52143, PeerValue: 24012, Unit: "rows/s", Ratio: []float64{0.5, 1, 2.17, 30}[i%4], Rounds: 5, Floor: 1.8})
	}
	return append(entries, entry{Goal: "P6", Rounds: 5, Also: map[string]float64{
		"alone_us/row": 20, "alone_rows": 10_000, "tenth_rows": 100_000, "rows": 1_000_000,
		"tenth_backlog": 1.05, "backlog": 1.25, "history": 1.25, "random_order_backlog": 2.5,
	}})
}

func TestDrawWritesBothPictures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "goals.json")
	if err := writeJSON(path, drawable()); err != nil {
		t.Fatal(err)
	}
	if err := draw(path, dir); err != nil {
		t.Fatal(err)
	}
	for name, wants := range map[string][]string{
		"performance-peers.svg":  {"Belfry 52,143, River 24,012 rows/s", ">2.17×<", ">floor 1.8×<", ">1×<", "goqite", "</title>", "</desc>"},
		"performance-growth.svg": {">20.0 µs<", ">21.0 µs<", "25.0 µs, 1.25 times", "50.0 µs, 2.50 times", "1,000,000 rows", "</title>", "</desc>"},
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		wellFormed(t, name, string(text))
		for _, want := range wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
	}
}

// wellFormed refuses what a viewer would, and what is not a number.
func wellFormed(t *testing.T, name, text string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for _, bad := range []string{"NaN", "Inf", `="-`, "<script", "%!"} {
		if strings.Contains(text, bad) {
			t.Errorf("%s has %s", name, bad)
		}
	}
}

func TestAPictureLeavesNoGoalOut(t *testing.T) {
	t.Parallel()
	all := drawable()
	for i, e := range all {
		rest := append(all[:i:i], all[i+1:]...)
		_, err := peersPicture(rest)
		if e.Goal == "P6" {
			_, err = growthPicture(rest)
		}
		if err == nil || !strings.Contains(err.Error(), e.Goal) {
			t.Errorf("without %s: %v", e.Goal, err)
		}
	}
}

func TestGrowthNeedsItsSizes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"alone_us/row", "alone_rows", "tenth_rows", "rows"} {
		all := drawable()
		delete(all[len(all)-1].Also, name)
		if _, err := growthPicture(all); err == nil {
			t.Errorf("drawn without %s", name)
		}
	}
}

func TestLabelsAreMovedApartInTheirOrder(t *testing.T) {
	t.Parallel()
	got := spread([]float64{100, 90, 300}, 40)
	if d := got[0] - got[1]; d < 40 || got[2]-got[0] < 40 {
		t.Errorf("spread = %v", got)
	}
	if same := fmt.Sprint(spread([]float64{1, 100, 50}, 40)); same != "[1 100 50]" {
		t.Errorf("what is apart was moved: %s", same)
	}
}

func TestThousandsAreGrouped(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{6.21: "6.21", 52.14: "52.1", 999.9: "999.9", 1000: "1,000", 52143: "52,143", 1e6: "1,000,000"} {
		if got := grouped(v); got != want {
			t.Errorf("grouped(%v) = %s, want %s", v, got, want)
		}
	}
}
