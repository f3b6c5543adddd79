package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
)

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
