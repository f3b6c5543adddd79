package survey

import (
	"encoding/json"
	"fmt"
	"time"
)

// Duration is a length of time such as "0d", "15m", "4h", "2d", "1w" or "1d12h". A
// day has 24 hours.
type Duration time.Duration

// UnmarshalJSON reads the text of a duration.
func (d *Duration) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	var err error
	*d, err = ParseDuration(s)
	return err
}

// ParseDuration reads the text of a duration.
func ParseDuration(text string) (Duration, error) {
	var n time.Duration
	var unit string
	if _, err := fmt.Sscanf(text, "%d%s", &n, &unit); err != nil {
		return 0, err
	}
	return Duration(n * map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}[unit]), nil
}
