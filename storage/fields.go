package storage

import (
	"fmt"
	"reflect"
	"time"
	"unsafe"
)

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

// Text is the field of a Text column, whatever its string type is named.
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

func (c *Column) mustBe(kind Kind, f Fields) unsafe.Pointer {
	if c.Kind != kind {
		panic(c.unkind(kind))
	}
	return c.at(f)
}

//go:noinline
func (c *Column) unkind(kind Kind) string {
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
	case c.Kind == Text:
		return *c.Text(f) == ""
	case c.Kind == Instant:
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
