package notify

import "fmt"

// withOwnGates puts in front what is asked in every process, whether the host
// configures gates or not: whether the database is a copy, which addresses are
// suppressed, what recipients have opted out of. Where one of the gates asks that,
// it does so in its own place. It panics on a gate that is nil, or knows addresses
// by another key.
func (n *Notifier) withOwnGates(gates []Gate) []Gate {
	own, others := []Gate{n.environment}, make([]Gate, 0, len(gates))
	suppression, preferences := false, false
	for i, g := range gates {
		switch g := g.(type) {
		case nil:
			panic(fmt.Sprintf("notify: New: gate %d is nil", i+1))
		case *environment:
			continue
		case suppressionGate:
			if g.n.hashKey != n.hashKey {
				panic("notify: New: GateOptions.HashKey is not Options.HashKey")
			}
			suppression = true
			others = append(others, suppressionGate{n})
		case preferenceGate:
			preferences = true
			others = append(others, preferenceGate{n})
		default:
			others = append(others, g)
		}
	}
	if !suppression {
		own = append(own, suppressionGate{n})
	}
	if !preferences {
		own = append(own, preferenceGate{n})
	}
	return append(own, others...)
}
