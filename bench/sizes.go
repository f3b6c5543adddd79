package main

// sizes say how much is done in a round.
type sizes struct {
	rounds   int
	drain    int // P1 to P3
	sqlite   int // P4
	samples  int // P5
	small    int // P6
	large    int // P6
	long     int // P7
	memory   int // P11
	idle     int // P12, seconds
	handlers int
}

func sizesFor(quick bool) sizes {
	if quick {
		return sizes{rounds: 3, drain: 30_000, sqlite: 5_000, samples: 100, small: 10_000, large: 200_000, long: 100_000, memory: 100_000, idle: 10, handlers: 2000}
	}
	return sizes{rounds: 5, drain: 100_000, sqlite: 20_000, samples: 300, small: 10_000, large: 1_000_000, long: 600_000, memory: 100_000, idle: 30, handlers: 2000}
}
