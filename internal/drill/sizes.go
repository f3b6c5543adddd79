package main

import "time"

// sizes say how much of a day is played.
type sizes struct {
	full bool
	// hung is how many rows are due on what hangs, backlogRows how many elsewhere, in
	// each of so many rounds.
	hung, backlogRows, rounds int
	flood                     int // rows of the tenant that floods
	messages, tenants         int
	dead                      int // lookback: entries that the long transaction keeps
	// samples is how many rows are timed one after the other.
	samples int
	// slack widens bounds in time, for tests beside others.
	slack time.Duration
}

// fullSizes are those of make drill.
func fullSizes(full bool) sizes {
	return sizes{full: full, hung: 100_000, backlogRows: 20_000, rounds: 3, flood: 1_000_000, messages: 5000, tenants: 10_000,
		dead: 400_000, samples: 300, slack: 1}
}
