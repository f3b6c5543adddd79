package standardwebhooks

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter is how long an answer with these headers asks to wait, in seconds or
// until a date by its sender's own clock; zero where it does not say or says
// nonsense (RFC 9110, section 10.2.3).
func RetryAfter(h http.Header) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	until, err := http.ParseTime(text)
	now, err2 := http.ParseTime(h.Get("Date"))
	if err != nil || err2 != nil {
		return 0
	}
	return max(0, until.Sub(now))
}
