package backoff

import "time"

// Period returns every with up to a tenth added, derived from key, so that what
// recurs in the same rhythm under many keys does not all come at once. It is
// never less than every, which must be at least ten microseconds.
func Period(key string, every time.Duration) time.Duration {
	return every + jitter(key, 0, every/10)
}
