package main

import "time"

// sizes say how much of a day is played.
type sizes struct {
	full bool
	dead int // lookback: entries that the long transaction keeps
	// samples is how many rows are timed one after the other.
	samples int
	// slack widens bounds in time, for tests beside others.
	slack time.Duration
}

// fullSizes are those of make drill.
func fullSizes(full bool) sizes {
	return sizes{full: full, dead: 400_000, samples: 300, slack: 1}
}
