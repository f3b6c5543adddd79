package sqlstore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// Arrays are passed as literals in strings, which every driver and protocol
// passes on unchanged: with binary_parameters=yes a []byte would be sent as
// binary, and pq.Array makes NULL of a nil slice.

// columnArray is the array literal of a column of rows.
func columnArray(c *storage.Column, rows []storage.Fields) (array string, err error) {
	array = arrayOf(rows, func(b *strings.Builder, r storage.Fields) {
		err = cmp.Or(err, writeElement(b, c, r))
	})
	return array, err
}

func writeElement(b *strings.Builder, c *storage.Column, r storage.Fields) error {
	if c.IsNull(r) {
		b.WriteString("NULL")
		return nil
	}
	switch c.Kind {
	case storage.Int:
		writeInt(b, c.Int(r))
	case storage.Bool:
		b.WriteString(strconv.FormatBool(*c.Bool(r)))
	case storage.Instant: // zero in a zone is zero too
		t := storage.Time(*c.Instant(r))
		if t.IsZero() {
			b.WriteString("NULL")
			return nil
		}
		writeInstant(b, t)
	case storage.Bytes:
		fmt.Fprintf(b, `"\\x%x"`, c.In(r).Bytes())
	case storage.JSON:
		text, err := json.Marshal(c.In(r).Interface())
		writeQuoted(b, string(text))
		return err
	default:
		writeQuoted(b, *c.Text(r))
	}
	return nil
}

func writeInt(b *strings.Builder, v int64) {
	var digits [20]byte
	b.Write(strconv.AppendInt(digits[:0], v, 10))
}

func writeInstant(b *strings.Builder, t time.Time) {
	var text [len(time.RFC3339Nano) + 2]byte
	b.Write(append(t.AppendFormat(append(text[:0], '"'), time.RFC3339Nano), '"'))
}

var escaper = strings.NewReplacer(`"`, `\"`, `\`, `\\`)

// writeQuoted writes text as an array element: quoted, with " and \ escaped.
func writeQuoted(b *strings.Builder, text string) {
	if strings.IndexByte(text, '"') >= 0 || strings.IndexByte(text, '\\') >= 0 { // few have one
		text = escaper.Replace(text)
	}
	b.WriteByte('"')
	b.WriteString(text)
	b.WriteByte('"')
}

func textArray(list []string) string { return arrayOf(list, writeQuoted) }

func intArray(list []int64) string { return arrayOf(list, writeInt) }

// arrayOf is the array literal of what write makes of each element.
func arrayOf[V any](list []V, write func(*strings.Builder, V)) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, v := range list {
		if i == 1 { // the others are about as long as the first
			b.Grow((b.Len() + 4) * len(list))
		}
		if i > 0 {
			b.WriteByte(',')
		}
		write(&b, v)
	}
	b.WriteByte('}')
	return b.String()
}

// laneArrays are the lanes of a claim, their cursors and, if asked, limits.
func laneArrays(lanes []storage.LaneClaim, limits bool) []any {
	number := func(get func(storage.LaneClaim) int64) string {
		return arrayOf(lanes, func(b *strings.Builder, l storage.LaneClaim) { writeInt(b, get(l)) })
	}
	args := []any{
		number(func(l storage.LaneClaim) int64 { return int64(l.Lane) }),
		arrayOf(lanes, func(b *strings.Builder, l storage.LaneClaim) { writeInstant(b, storage.Time(l.After.DueOn)) }),
		number(func(l storage.LaneClaim) int64 { return l.After.ID }),
	}
	if limits {
		args = append(args, number(func(l storage.LaneClaim) int64 { return int64(max(l.Limit, 0)) }))
	}
	return args
}
