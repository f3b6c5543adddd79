package survey

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// position is the place of a response in the order of their moments.
func (r *responseRow) position() string {
	return strconv.FormatInt(r.SubmittedOn.UnixMicro(), 36) + "." + strconv.FormatInt(r.ID, 36)
}

// parsePosition reads a position; an empty one is at the beginning.
func parsePosition(text string) (on time.Time, id int64, err error) {
	if text == "" {
		return time.Time{}, 0, nil
	}
	moment, row, _ := strings.Cut(text, ".")
	micros, err := strconv.ParseInt(moment, 36, 64)
	id, bad := strconv.ParseInt(row, 36, 64)
	if errors.Join(err, bad) != nil {
		return time.Time{}, 0, fmt.Errorf("%w: the After %.40q", errNoRow, text)
	}
	return time.UnixMicro(micros).UTC(), id, nil
}
