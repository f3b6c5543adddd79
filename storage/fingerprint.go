package storage

import (
	"crypto/sha256"
	"encoding/binary"
)

// Fingerprint names the fixed Int column that keeps a digest of each row as
// Ensure inserted it: of its scope, its key and its deciding columns, which are
// named before (see [Table.Deciding]). A row that nobody has written since then
// is known again by it, and need not be read. Fingerprint returns t; it is called
// once, beside Define.
func (t *Table[R]) Fingerprint(column string) *Table[R] {
	if c := t.Column(column); c.Kind != Int || !c.Fixed || t.deciding == nil {
		panic("storage: " + t.Name + "." + column + ": a fingerprint is a fixed integer of the deciding columns")
	}
	t.Schema.Fingerprint = column
	var names []byte
	for _, name := range append([]string{"scope", "key"}, t.deciding...) {
		t.printed = append(t.printed, t.Column(name))
		names = appendText(names, name)
	}
	sum := sha256.Sum256(names)
	t.layout = sum[:8]
	return t
}

// print gives rows their fingerprints. They are SHA-256, cut to 64 bits: a row
// that was changed is taken for the one that is stored once in 10^19 times.
func (t *Table[R]) print(rows []Row) (err error) {
	if t.Schema.Fingerprint == "" {
		return nil
	}
	column := t.Column(t.Schema.Fingerprint)
	text := make([]byte, 0, 512)
	for _, r := range rows {
		fields := FieldsOf(r)
		text = append(text[:0], t.layout...)
		for _, c := range t.printed {
			if text, err = c.appendTo(text, fields); err != nil {
				return err
			}
		}
		sum := sha256.Sum256(text)
		column.In(fields).SetInt(int64(binary.BigEndian.Uint64(sum[:])))
	}
	return nil
}

// appendTo appends the column's value, of which no other one is a beginning.
func (c *Column) appendTo(b []byte, fields Fields) ([]byte, error) {
	if c.IsNull(fields) {
		return append(b, 0), nil
	}
	switch c.Kind {
	case Int:
		return binary.AppendVarint(append(b, 1), c.Int(fields)), nil
	case Bool:
		if *c.Bool(fields) {
			return append(b, 2), nil
		}
		return append(b, 1), nil
	case Instant:
		return binary.AppendVarint(append(b, 1), Time(*c.Instant(fields)).UnixMicro()), nil
	case Bytes:
		return appendText(append(b, 1), c.In(fields).Bytes()), nil
	case JSON:
		v, err := c.ValueIn(fields)
		text, _ := v.(string)
		return appendText(append(b, 1), text), err
	}
	return appendText(append(b, 1), *c.Text(fields)), nil
}

func appendText[T string | []byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}
