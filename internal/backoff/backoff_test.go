package backoff_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/backoff"
)

func TestI17_FiveMinutesFifteenMinutesAnHourThenHold(t *testing.T) {
	t.Parallel()
	for failures, want := range map[int]time.Duration{1: 5 * time.Minute, 2: 15 * time.Minute, 3: time.Hour} {
		for i := range 1000 {
			got, ok := backoff.After(fmt.Sprint("key", i), failures)
			if !ok || got < want || got >= want+want/10 {
				t.Fatalf("failure %d of key %d: %v, %v", failures, i, got, ok)
			}
		}
	}
	for _, failures := range []int{4, 5, 1000} {
		if got, ok := backoff.After("key", failures); ok || got != 0 {
			t.Errorf("failure %d: %v, %v", failures, got, ok)
		}
	}
	for _, failures := range []int{0, -1} {
		if got, ok := backoff.After("key", failures); !ok || got != 0 {
			t.Errorf("failure %d: %v, %v", failures, got, ok)
		}
	}
}

func TestTheJitterFollowsFromTheKeyAndSpreads(t *testing.T) {
	t.Parallel()
	seen := map[time.Duration]bool{}
	for i := range 100 {
		key := fmt.Sprint("reminder:", i)
		first, _ := backoff.After(key, 1)
		again, _ := backoff.After(key, 1)
		if first != again {
			t.Errorf("%s waits %v, then %v", key, first, again)
		}
		if first.Truncate(time.Microsecond) != first {
			t.Errorf("%v is not a whole microsecond", first)
		}
		seen[first.Truncate(time.Second)] = true
	}
	if len(seen) < 20 {
		t.Errorf("100 keys come back in %d seconds", len(seen))
	}
}
