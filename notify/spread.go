package notify

import (
	"hash/fnv"
	"io"
	"time"
)

// spread is a part of limit, from zero to less than it, that follows from text.
func spread(text string, limit time.Duration) time.Duration {
	h := fnv.New64a()
	_, _ = io.WriteString(h, text) // a hash never fails
	return time.Duration(h.Sum64() % uint64(max(limit, 1)))
}
