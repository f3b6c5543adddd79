package contender

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

// Quantile is the value that a share q of them does not exceed; 0 of none.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// Waits sums up how long rows waited, in milliseconds.
func Waits(ms []float64) map[string]float64 {
	return map[string]float64{"p50_ms": Quantile(ms, 0.5), "p99_ms": Quantile(ms, 0.99)}
}

// Paced calls f n times, 15 to 35 milliseconds apart, so that a worker has
// nothing to do between and cannot be in step.
func Paced(ctx context.Context, n int, f func(now time.Time) error) error {
	random := rand.New(rand.NewPCG(1, 1))
	for range n {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-Clock.After(15*time.Millisecond + time.Duration(random.Int64N(int64(20*time.Millisecond)))):
		}
		if err := f(Clock.Now()); err != nil {
			return err
		}
	}
	return nil
}
