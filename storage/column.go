package storage

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

// Value returns the column of r in its canonical form: string (Text, JSON),
// int64, bool, time.Time (UTC, whole microseconds), []byte, or nil for NULL.
// Text with a NUL or invalid UTF-8, and a value that does not marshal, is a
// [*ValueError]: databases disagree about those.
func (c *Column) Value(r Row) (any, error) { return c.ValueIn(FieldsOf(r)) }

// ValueIn is Value of the row whose fields are given.
func (c *Column) ValueIn(fields Fields) (any, error) {
	if c.IsNull(fields) {
		return nil, nil
	}
	switch c.Kind {
	case Int:
		return c.Int(fields), nil
	case Bool:
		return *c.Bool(fields), nil
	case Instant:
		if t := Time(*c.Instant(fields)); !t.IsZero() {
			return t, nil
		}
		return nil, nil // a moment of the first microsecond is cut off to zero
	case Bytes:
		return append([]byte{}, c.In(fields).Bytes()...), nil // NULL needs the tag, never a nil slice
	case JSON:
		b, err := json.Marshal(c.In(fields).Interface())
		if err != nil {
			return nil, &ValueError{Table: c.table, Column: c.Name, Problem: err.Error()}
		}
		return string(b), nil
	default:
		s := *c.Text(fields)
		if problem := textProblem(s); problem != "" {
			return nil, &ValueError{Table: c.table, Column: c.Name, Problem: problem}
		}
		return s, nil
	}
}

func textProblem(s string) string {
	switch {
	case strings.IndexByte(s, 0) >= 0:
		return "text holds a NUL character"
	case !utf8.ValidString(s):
		return "text is not valid UTF-8"
	}
	return ""
}

// Set stores a canonical value, as Value gives it, into the column of r.
func (c *Column) Set(r Row, v any) error {
	f := c.Field(r)
	if v == nil {
		f.SetZero()
		return nil
	}
	switch v := v.(type) {
	case int64:
		f.SetInt(v)
	case bool:
		f.SetBool(v)
	case time.Time:
		f.Set(reflect.ValueOf(Time(v)))
	case []byte:
		f.SetBytes(append([]byte{}, v...))
	case string:
		if c.Kind == JSON {
			f.SetZero()
			if err := json.Unmarshal([]byte(v), f.Addr().Interface()); err != nil {
				return fmt.Errorf("storage: %s.%s: %w", c.table, c.Name, err)
			}
			return nil
		}
		f.SetString(v)
	default:
		return fmt.Errorf("storage: %s.%s: unexpected %T", c.table, c.Name, v)
	}
	return nil
}

// Time returns t as it is stored, hashed and compared: UTC, whole microseconds,
// without a monotonic reading. The zero time stays zero.
func Time(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// size counts the bytes of text, JSON and bytes, and refuses what Value refuses,
// without making a value.
func (c *Column) size(fields Fields) (int, error) {
	switch c.Kind {
	case Text:
		s := *c.Text(fields)
		if s == "" { // most are
			return 0, nil
		}
		if problem := textProblem(s); problem != "" {
			return 0, &ValueError{Table: c.table, Column: c.Name, Problem: problem}
		}
		return len(s), nil
	case Bytes:
		return c.In(fields).Len(), nil
	case JSON:
		v, err := c.ValueIn(fields)
		s, _ := v.(string) // NULL has no bytes
		return len(s), err
	}
	return 0, nil
}

// check refuses what no adapter could store faithfully.
func (s *Schema) check(r Row) error {
	size, fields := 0, FieldsOf(r)
	for i := range s.Columns {
		n, err := s.Columns[i].size(fields)
		if err != nil {
			return err
		}
		size += n
	}
	if s.MaxRow > 0 && size > s.MaxRow {
		return &RowSizeError{Table: s.Name, Size: size, Limit: s.MaxRow}
	}
	return s.checkName(r)
}

// checkName refuses what no row is called.
func (s *Schema) checkName(r Row) error {
	switch rec := r.record(); {
	case rec.Scope == AnyScope:
		return &ValueError{Table: s.Name, Column: "scope", Problem: "AnyScope is for reading only"}
	case rec.Key == "":
		return &ValueError{Table: s.Name, Column: "key", Problem: "empty"}
	}
	return nil
}
