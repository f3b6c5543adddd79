package main

import (
	"fmt"
	"math"
)

// peersRows are the goals that have a peer, as a reader of the picture knows them.
var peersRows = []struct{ goal, about, peer string }{
	{"P1", "PostgreSQL: claim, handle, settle", "River"},
	{"P2", "PostgreSQL: the same, 4 processes", "River"},
	{"P3-new", "PostgreSQL: bulk ensure, all new", "River"},
	{"P3-existing", "PostgreSQL: bulk ensure, all there already", "River"},
	{"P4-goqite", "SQLite: claim, handle, settle", "goqite"},
	{"P4-river", "SQLite: claim, handle, settle", "River"},
	{"P5", "PostgreSQL: inserted to handler, idle, p99", "River"},
}

// The measures of the picture: texts, then bars, then ratios.
const (
	peersWidth = 880.0
	peersTop   = 84.0
	peersRow   = 46.0
	barsLeft   = 350.0
	barsRight  = 760.0
)

// peersPicture is a bar for each goal with a peer, from one times the peer's
// figure to Belfry's. Equal lengths are equal ratios.
func peersPicture(entries []entry) (string, error) {
	bottom := peersTop + peersRow*float64(len(peersRows))
	s := &svg{width: peersWidth, height: bottom + 62, title: "Belfry beside its peers"}
	var found []entry
	rounds := 0
	for _, r := range peersRows {
		e, err := goalOf(entries, r.goal)
		if err != nil {
			return "", err
		}
		found, rounds = append(found, e), max(rounds, e.Rounds)
	}
	s.text(24, 34, ink, "Belfry beside its peers, on one server in one run", large+bold)
	s.text(24, 56, faint, fmt.Sprintf("Medians of %d rounds in which the sides took turns. To the right of 1× Belfry is ahead. Ratios on a logarithmic scale.", rounds), small)
	at := s.ratios(found, peersTop, bottom)
	for i, e := range found {
		s.peer(e, peersRows[i].about, peersRows[i].peer, peersTop+peersRow*float64(i), at)
	}
	s.line(at(1), peersTop-4, at(1), bottom, ink, thick)
	s.line(24, bottom+42, 24, bottom+54, ink, thick)
	s.text(32, bottom+52, faint, "on a bar: the floor that was promised", small)
	return s.String(), nil
}

// ratios draws the scale, and returns where a ratio is on it.
func (s *svg) ratios(found []entry, top, bottom float64) func(ratio float64) float64 {
	low, high := 0.9, 2.0
	for _, e := range found {
		low, high = min(low, e.Ratio/1.1), max(high, e.Ratio*1.1, e.Floor*1.1)
	}
	at := func(ratio float64) float64 {
		return barsLeft + (barsRight-barsLeft)*math.Log(ratio/low)/math.Log(high/low)
	}
	for _, tick := range []float64{0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100} {
		if tick >= low && tick <= high {
			s.line(at(tick), top-4, at(tick), bottom, rule, "")
			s.text(at(tick), bottom+18, faint, fmt.Sprintf("%g×", tick), middle+small)
		}
	}
	return at
}

// peer draws one row.
func (s *svg) peer(e entry, about, peer string, y float64, at func(float64) float64) {
	figures := fmt.Sprintf("Belfry %s, %s %s %s", grouped(e.Belfry), peer, grouped(e.PeerValue), e.Unit)
	if e.Unit == "ms" {
		figures += " (less is better)"
	}
	ratio := fmt.Sprintf("%.2f×", e.Ratio)
	s.text(24, y+16, ink, about, "")
	s.text(24, y+33, faint, figures, small)
	colour := good
	if e.Ratio < 1 {
		colour = behind
	}
	s.rect(min(at(1), at(e.Ratio)), y+8, math.Abs(at(e.Ratio)-at(1)), 20, colour)
	s.line(at(e.Floor), y+4, at(e.Floor), y+32, ink, thick)
	s.text(peersWidth-24, y+18, ink, ratio, end+bold)
	s.text(peersWidth-24, y+34, faint, fmt.Sprintf("floor %g×", e.Floor), end+small)
	s.desc += fmt.Sprintf("%s: %s; %s, floor %g×. ", about, figures, ratio, e.Floor)
}
