package driver

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"
)

// Value returns the column of r in its canonical form: string (Text, JSON),
// int64, bool, time.Time (UTC, whole microseconds), []byte, or nil for NULL.
// Text with a NUL or invalid UTF-8, or beyond its bound, and a value that does not
// marshal, is a [*ValueError]: databases disagree about those.
func (c *Column) Value(r Row) (any, error) { return c.ValueIn(FieldsOf(r)) }

// ValueIn is Value of the row whose fields are given.
func (c *Column) ValueIn(fields Fields) (any, error) {
	if c.IsNull(fields) {
		return nil, nil
	}
	switch c.Type {
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
		b, err := c.JSON(fields)
		if err != nil {
			return nil, err
		}
		return string(b), nil
	default:
		s := *c.Text(fields)
		if problem := c.problem(s); problem != "" {
			return nil, &ValueError{Table: c.table, Column: c.Name, Problem: problem}
		}
		return s, nil
	}
}

// JSON is the text of a JSON column that is not NULL. It copies nothing of the field.
func (c *Column) JSON(f Fields) ([]byte, error) {
	text, err := json.Marshal(reflect.NewAt(c.field, c.at(f)).Interface())
	if err != nil {
		return nil, &ValueError{Table: c.table, Column: c.Name, Problem: err.Error()}
	}
	return text, nil
}

// problem says why the column cannot hold a text, or "" if it can.
func (c *Column) problem(s string) string {
	if problem := lengthProblem(s, c.Max); problem != "" {
		return problem
	}
	return textProblem(s)
}

func lengthProblem(s string, limit int) string {
	if limit > 0 && len(s) > limit {
		return fmt.Sprintf("text has %d bytes, more than %d", len(s), limit)
	}
	return ""
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
		if c.Type == JSON {
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
	switch c.Type {
	case Text:
		s := *c.Text(fields)
		if s == "" { // most are
			return 0, nil
		}
		if problem := c.problem(s); problem != "" {
			return 0, &ValueError{Table: c.table, Column: c.Name, Problem: problem}
		}
		return len(s), nil
	case Bytes:
		return c.In(fields).Len(), nil
	case JSON:
		if c.IsNull(fields) {
			return 0, nil
		}
		text, err := c.JSON(fields)
		return len(text), err
	}
	return 0, nil
}

// check refuses what no adapter could store faithfully. Of a row that is changed the
// JSON that is fixed is not spelled out again: it is not written.
func (s *Schema) check(r Row, changed bool) error {
	size, fields := 0, FieldsOf(r)
	for i := range s.Columns {
		c := &s.Columns[i]
		if changed && c.Fixed && c.Type == JSON {
			continue
		}
		n, err := c.size(fields)
		if err != nil {
			return err
		}
		size += n
	}
	if s.MaxRow > 0 && size > s.MaxRow {
		return &RowSizeError{Table: s.Name, Size: size, Limit: s.MaxRow}
	}
	return s.checkKey(r)
}

// checkKey refuses a row without a key.
func (s *Schema) checkKey(r Row) error {
	if r.record().Key == "" {
		return &ValueError{Table: s.Name, Column: "key", Problem: "empty"}
	}
	return nil
}

// Fields are the fields of one row, for who handles many columns of many rows.
// A column finds its field at a fixed distance from the row's start, which is
// several times as fast as reflection.
type Fields struct {
	of   Row
	row  unsafe.Pointer // the struct
	kind typeWord
}

// typeWord is the address of a type: types are told apart in one comparison.
type typeWord unsafe.Pointer

// FieldsOf returns the fields of r.
func FieldsOf(r Row) Fields {
	v := reflect.ValueOf(r)
	return Fields{r, v.UnsafePointer(), wordOf(v.Type())}
}

func wordOf(t reflect.Type) typeWord { return typeWord(reflect.ValueOf(t).UnsafePointer()) }

// at is where the column's field lies. It panics on a row of another table.
func (c *Column) at(f Fields) unsafe.Pointer {
	if f.kind != c.row {
		panic(c.foreign(f))
	}
	return unsafe.Add(f.row, c.offset)
}

// foreign is apart from at, and not inlined, so that at can be.
//
//go:noinline
func (c *Column) foreign(f Fields) string {
	return fmt.Sprintf("storage: column %s.%s of a %T", c.table, c.Name, f.of)
}

// Text is the field of a Text column, of any string type.
func (c *Column) Text(f Fields) *string { return (*string)(c.mustBe(Text, f)) }

// Bool is the field of a Bool column.
func (c *Column) Bool(f Fields) *bool { return (*bool)(c.mustBe(Bool, f)) }

// Instant is the field of an Instant column.
func (c *Column) Instant(f Fields) *time.Time { return (*time.Time)(c.mustBe(Instant, f)) }

// Int is the value of an Int column.
func (c *Column) Int(f Fields) int64 {
	switch p := c.mustBe(Int, f); c.field.Size() {
	case 2:
		return int64(*(*int16)(p))
	case 4:
		return int64(*(*int32)(p))
	default:
		return *(*int64)(p)
	}
}

func (c *Column) mustBe(kind ColumnType, f Fields) unsafe.Pointer {
	if c.Type != kind {
		panic(c.unkind(kind))
	}
	return c.at(f)
}

//go:noinline
func (c *Column) unkind(kind ColumnType) string {
	return fmt.Sprintf("storage: column %s.%s is not of kind %d", c.table, c.Name, kind)
}

// In returns the addressable field of any column.
func (c *Column) In(f Fields) reflect.Value { return reflect.NewAt(c.field, c.at(f)).Elem() }

// Field returns the addressable field of r that holds the column.
func (c *Column) Field(r Row) reflect.Value { return c.In(FieldsOf(r)) }

// IsNull reports whether the column is stored as NULL.
func (c *Column) IsNull(f Fields) bool {
	switch {
	case !c.Null:
		return false
	case c.Type == Text:
		return *c.Text(f) == ""
	case c.Type == Instant:
		return c.Instant(f).IsZero()
	}
	return c.In(f).IsZero()
}

// place finds a field of a row: how far it lies from the start, and its type.
func place(row reflect.Type, path []int) (offset uintptr, field reflect.Type) {
	field = row
	for i, n := range path {
		if i > 0 && field.Kind() != reflect.Struct {
			panic(fmt.Sprintf("storage: %v embeds %v by pointer, not by value", row, field))
		}
		f := field.Field(n)
		offset, field = offset+f.Offset, f.Type
	}
	return offset, field
}
