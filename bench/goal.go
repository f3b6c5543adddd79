package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/belfry-go/belfry/internal/contender"
)

// goal is a promise about a match: Belfry's figure beside a peer's, or beside a
// bound of its own.
type goal struct {
	id, about, unit string
	floor, target   float64 // ratios; what is promised, and what is hoped for
	judge           func(map[string]scores) verdict
}

// verdict is what a match says about a goal. A ratio above 1 means that Belfry
// is ahead of the peer or inside its bound.
type verdict struct {
	belfry, peer float64
	name         string // of the peer
	ratio        float64
	low, high    float64 // of Belfry over the rounds
	plow, phigh  float64 // of the peer
	rounds       int
	also         map[string]float64
}

// ahead compares the medians of a figure of which more is better.
func ahead(figure, peer string) func(map[string]scores) verdict { return sideAhead(us, figure, peer) }

// sideAhead is ahead for another side of Belfry's.
func sideAhead(own, figure, peer string) func(map[string]scores) verdict {
	return func(all map[string]scores) verdict {
		v := beside(all, own, figure, peer)
		v.ratio = v.belfry / v.peer
		return v
	}
}

// below compares the medians of a figure of which less is better.
func below(figure, peer string) func(map[string]scores) verdict {
	return func(all map[string]scores) verdict {
		v := beside(all, us, figure, peer)
		v.ratio = v.peer / v.belfry
		return v
	}
}

func beside(all map[string]scores, side, figure, peer string) verdict {
	own, theirs := all[side][figure], all[peer][figure]
	return verdict{
		belfry: median(own), peer: median(theirs), name: peer, rounds: len(own),
		low: contender.Quantile(own, 0), high: contender.Quantile(own, 1), plow: contender.Quantile(theirs, 0), phigh: contender.Quantile(theirs, 1),
	}
}

// us is the name of Belfry's side.
const us = "belfry"

// usOnPgx is the name of the same through pgx, beside lib/pq.
const usOnPgx = "belfry-pgx"

// throughPgx is a goal of its own for the same work through pgx, with its ratio to the
// figure through lib/pq in the same rounds.
func throughPgx(g goal, figure string) goal {
	g.id, g.about = g.id+"-pgx", "the same through pgx"
	g.judge = with(sideAhead(usOnPgx, figure, "river"), func(all map[string]scores) map[string]float64 {
		return map[string]float64{"times_lib/pq": median(all[usOnPgx][figure]) / median(all[us][figure])}
	})
	return g
}

// with adds medians of further figures to what a judge says.
func with(judge func(map[string]scores) verdict, also func(map[string]scores) map[string]float64) func(map[string]scores) verdict {
	return func(all map[string]scores) verdict {
		v := judge(all)
		v.also = also(all)
		return v
	}
}

// bounded is a verdict on a figure that shall not exceed a bound.
func bounded(values []float64, bound float64) verdict {
	m := median(values)
	return verdict{
		belfry: m, peer: bound, name: "bound", ratio: bound / m, rounds: len(values),
		low: contender.Quantile(values, 0), high: contender.Quantile(values, 1), plow: bound, phigh: bound,
	}
}

// quotients divides round by round.
func quotients(a, b []float64) []float64 {
	q := make([]float64, min(len(a), len(b)))
	for i := range q {
		q[i] = a[i] / b[i]
	}
	return q
}

// entry is a goal in the JSON.
type entry struct {
	Goal      string             `json:"goal"`
	About     string             `json:"about"`
	Belfry    float64            `json:"belfry"`
	Peer      string             `json:"peer"`
	PeerValue float64            `json:"peer_value"`
	Unit      string             `json:"unit"`
	Ratio     float64            `json:"ratio"`
	Rounds    int                `json:"rounds"`
	Floor     float64            `json:"floor"`  // of the ratio
	Target    float64            `json:"target"` // of the ratio
	Range     [2]float64         `json:"belfry_range"`
	PeerRange [2]float64         `json:"peer_range"`
	Also      map[string]float64 `json:"also,omitempty"`
}

func (g goal) entry(v verdict) entry {
	return entry{
		Goal: g.id, About: g.about, Belfry: v.belfry, Peer: v.name, PeerValue: v.peer, Unit: g.unit, Ratio: v.ratio,
		Rounds: v.rounds, Floor: g.floor, Target: g.target, Range: [2]float64{v.low, v.high},
		PeerRange: [2]float64{v.plow, v.phigh}, Also: v.also,
	}
}

// judgement says in a word how a ratio stands.
func (e entry) judgement() string {
	switch {
	case e.Ratio >= e.Target:
		return "goal"
	case e.Ratio >= e.Floor:
		return "floor"
	}
	return "MISSED"
}

func table(w io.Writer, entries []entry) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "goal\twork\tBelfry\t(range)\tpeer\t\t(range)\tunit\tratio\tfloor\tgoal\t")
	for _, e := range entries {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.2f\t%.2f\t%.2f\t%s\n", e.Goal, e.About,
			figure(e.Belfry), rangeOf(e.Range), e.Peer, figure(e.PeerValue), rangeOf(e.PeerRange), e.Unit,
			e.Ratio, e.Floor, e.Target, e.judgement())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, e := range entries {
		if len(e.Also) > 0 {
			fmt.Fprintf(w, "%s, also:%s\n", e.Goal, line(e.Also))
		}
	}
	return nil
}

func rangeOf(r [2]float64) string { return figure(r[0]) + " to " + figure(r[1]) }

func writeJSON(path string, entries []entry) error {
	text, err := json.MarshalIndent(entries, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
