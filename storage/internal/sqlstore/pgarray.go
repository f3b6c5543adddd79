package sqlstore

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// Arrays are passed as literals in strings, which every driver and protocol
// passes on unchanged: with binary_parameters=yes a []byte would be sent as
// binary, and pq.Array makes NULL of a nil slice.

// columnArray is the array literal of a column of rows.
func columnArray(c *storage.Column, rows []storage.Fields) (string, error) {
	b := []byte{'{'}
	var err error
	for i, r := range rows {
		if i == 1 { // the others are about as long as the first
			b = slices.Grow(b, (len(b)+4)*len(rows))
		}
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendElement(b, c, r); err != nil {
			return "", err
		}
	}
	return string(append(b, '}')), nil
}

func appendElement(b []byte, c *storage.Column, r storage.Fields) ([]byte, error) {
	if c.IsNull(r) {
		return append(b, "NULL"...), nil
	}
	switch c.Kind {
	case storage.Int:
		return strconv.AppendInt(b, c.Int(r), 10), nil
	case storage.Bool:
		return strconv.AppendBool(b, *c.Bool(r)), nil
	case storage.Instant: // zero in a zone is zero too
		t := storage.Time(*c.Instant(r))
		if t.IsZero() {
			return append(b, "NULL"...), nil
		}
		return appendInstant(b, t), nil
	case storage.Bytes:
		return fmt.Appendf(b, `"\\x%x"`, c.In(r).Bytes()), nil
	case storage.JSON:
		text, err := json.Marshal(c.In(r).Interface())
		if err != nil {
			return nil, err
		}
		return appendQuoted(b, text), nil
	}
	return appendQuoted(b, *c.Text(r)), nil
}

func appendInstant(b []byte, t time.Time) []byte {
	return append(t.AppendFormat(append(b, '"'), time.RFC3339Nano), '"')
}

// appendQuoted appends text as an array element: quoted, with " and \ escaped.
func appendQuoted[T string | []byte](b []byte, text T) []byte {
	b = append(b, '"')
	start := 0
	for i := range len(text) {
		if text[i] == '"' || text[i] == '\\' {
			b = append(append(b, text[start:i]...), '\\')
			start = i
		}
	}
	return append(append(b, text[start:]...), '"')
}

func textArray(list []string) string { return arrayOf(list, appendQuoted[string]) }

func intArray(list []int64) string {
	return arrayOf(list, func(b []byte, v int64) []byte { return strconv.AppendInt(b, v, 10) })
}

func arrayOf[V any](list []V, add func([]byte, V) []byte) string {
	b := append(make([]byte, 0, 24*len(list)+2), '{')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = add(b, v)
	}
	return string(append(b, '}'))
}

// laneArrays are the lanes of a claim, their cursors and, if asked, limits.
func laneArrays(lanes []storage.LaneClaim, limits bool) []any {
	number := func(get func(storage.LaneClaim) int64) string {
		return arrayOf(lanes, func(b []byte, l storage.LaneClaim) []byte { return strconv.AppendInt(b, get(l), 10) })
	}
	args := []any{
		number(func(l storage.LaneClaim) int64 { return int64(l.Lane) }),
		arrayOf(lanes, func(b []byte, l storage.LaneClaim) []byte { return appendInstant(b, storage.Time(l.After.DueOn)) }),
		number(func(l storage.LaneClaim) int64 { return l.After.ID }),
	}
	if limits {
		args = append(args, number(func(l storage.LaneClaim) int64 { return int64(max(l.Limit, 0)) }))
	}
	return args
}
