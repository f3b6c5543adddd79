package main

import "time"

// sizes say how much of each day is played.
type sizes struct {
	full bool // long days as well
	// samples is how many rows are timed one after the other, for a percentile.
	samples int
	// hung is how many rows are due on what hangs, elsewhere how many on what does not, in
	// each of so many rounds.
	hung, elsewhere, rounds int
	flood                   int           // rows of the tenant that floods
	refused                 time.Duration // a simulated time
	away, slots             time.Duration
	lease                   time.Duration // under load; zero: as hosts have it
	kills                   int
	messages, tenants       int
	dead                    int // entries that a long transaction keeps
	long, short             int // rows of backlogs
}

// fullSizes are those of make drill.
func fullSizes(full bool) sizes {
	return sizes{
		full: full, samples: 300, hung: 100_000, elsewhere: 100_000, rounds: 5, flood: 1_000_000, refused: 24 * time.Hour,
		away: 5 * time.Minute, slots: time.Minute, kills: 10, messages: 5000, tenants: 10_000, dead: 400_000,
		long: 10_000_000, short: 10_000,
	}
}
