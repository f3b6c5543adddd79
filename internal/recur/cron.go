package recur

import (
	"fmt"
	"strings"
	"time"

	"github.com/adhocore/gronx"
)

// tags are the short names that every cron knows. The library has more, and
// lets anybody in the process add to them.
var tags = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *",
	"@weekly": "0 0 * * 0", "@daily": "0 0 * * *", "@hourly": "0 * * * *",
}

// parseCron checks an expression strictly, since the library takes a part that
// is wrong where an earlier part of its list happens to be due, and returns it
// in capitals with single spaces.
func parseCron(text string) (string, func(time.Time) (time.Time, bool), error) {
	if len(text) > maxText {
		return "", nil, fmt.Errorf("cron: longer than %d bytes", maxText)
	}
	fields := strings.Fields(strings.ToUpper(text))
	if len(fields) > 0 && strings.HasPrefix(fields[0], "@") {
		expr, known := tags[strings.ToLower(strings.TrimSpace(text))]
		if !known {
			return "", nil, fmt.Errorf("cron %q: not one of @yearly, @annually, @monthly, @weekly, @daily, @hourly", text)
		}
		fields = strings.Fields(expr)
	}
	if len(fields) != len(cronFields) {
		return "", nil, fmt.Errorf("cron %q: %d fields, want 5: minute, hour, day of month, month, day of week (no seconds, no years)", text, len(fields))
	}
	for i, f := range cronFields {
		if err := f.check(fields[i]); err != nil {
			return "", nil, fmt.Errorf("cron %q: %s: %w", text, f.name, err)
		}
	}
	expr := strings.Join(fields, " ")
	return expr, func(after time.Time) (time.Time, bool) { return cronAfter(expr, after) }, nil
}

// cronAfter believes the library's search only if its own matcher agrees: where
// the search gives up, it may stand on a day that is not due.
func cronAfter(expr string, after time.Time) (time.Time, bool) {
	next, err := gronx.NextTickAfter(expr, after, false)
	if err != nil || !next.After(after) {
		return time.Time{}, false
	}
	due, err := gronx.New().IsDue(expr, next)
	return next, err == nil && due
}
