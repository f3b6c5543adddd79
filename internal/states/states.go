// Package states describes a state machine as data, so that transition methods
// check themselves against the table and the documentation is printed from it.
package states

import (
	"fmt"
	"slices"
)

// Machine is the table of legal transitions of one kind of row.
type Machine struct {
	// Name is the artifact, such as "OutgoingMessage".
	Name string
	// Start lists the states that a new row may have.
	Start []string
	// Edges are the legal transitions; staying in a state is always legal and
	// not listed, unless an event deserves to be named.
	Edges []Edge
	// Terminal lists the states that nothing leaves, audited support actions aside.
	Terminal []string
}

// Edge is one legal transition, and what causes it.
type Edge struct{ From, To, Event string }

// Legal reports whether a row may go from one state to the other.
func (m *Machine) Legal(from, to string) bool {
	return from == to || slices.ContainsFunc(m.Edges, func(e Edge) bool { return e.From == from && e.To == to })
}

// Must panics unless the transition is legal.
func (m *Machine) Must(from, to string) {
	if !m.Legal(from, to) {
		panic(fmt.Sprintf("states: %s: no transition from %q to %q", m.Name, from, to))
	}
}

// States lists every state once, in the order of the table.
func (m *Machine) States() []string {
	var all []string
	add := func(names ...string) {
		for _, s := range names {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	add(m.Start...)
	for _, e := range m.Edges {
		add(e.From, e.To)
	}
	add(m.Terminal...)
	return all
}
