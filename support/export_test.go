package support

import "github.com/belfry-go/belfry/notify"

// StatesOf are what the entry of a message says of it, and what its reminder says.
func StatesOf(m *notify.OutgoingMessage) [2]State {
	return [2]State{messageEntry(m).State(), stateOf(m).State()}
}

// InWords is a code in words; empty: it has none.
func InWords(code string) string { return words[code] }

// Words are all of them.
var Words = words
