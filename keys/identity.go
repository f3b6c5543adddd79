package keys

import (
	"strconv"
	"strings"
)

// separator stands between the parts of a joined identity. It is a control
// character, so no part of any key can hold it.
const separator = "\x1f"

// Join makes one text of an identity that has several parts: partition and
// row key, or the dispatch guard with artifact type, partition key, row key
// and notification event type (Communication - System architecture,
// "NotificationScheduler dispatch guard"). The parts stand in order with
// U+001F between them, so that one unique index on the text is the guard, and
// all rows of a partition are one range of it.
//
// Refused are no parts at all, a part that is empty, is not valid UTF-8 or
// holds a control character, and more than [MaxIdentityLen] bytes altogether.
// A ':' is welcome: parts are often keys. The error is a [*PartError].
func Join(parts ...string) (string, error) {
	if len(parts) == 0 {
		return "", &PartError{Kind: "identity", Problem: "has no parts"}
	}
	for i, part := range parts {
		if p := textProblem(part, MaxIdentityLen, ""); p != "" {
			return "", &PartError{Kind: "identity", Part: "part " + strconv.Itoa(i+1), Problem: p}
		}
	}
	joined := strings.Join(parts, separator)
	if p := lengthProblem(joined, MaxIdentityLen); p != "" {
		return "", &PartError{Kind: "identity", Problem: p}
	}
	return joined, nil
}

// Split gives the parts of what [Join] made, and refuses every other text
// with a [*PartError].
func Split(identity string) ([]string, error) {
	parts := strings.Split(identity, separator)
	if _, err := Join(parts...); err != nil {
		return nil, err
	}
	return parts, nil
}
