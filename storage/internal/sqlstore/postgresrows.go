package sqlstore

import (
	"cmp"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// Many rows are passed as a table c of their columns: each column is one array,
// except that one which is the same for all rows is one value, and a moment that
// each row has twice is one array for both. In most batches most columns are the
// same, and neither side then spells them out for every row. The first column, the
// id or the scope, is always an array: it says how many rows there are. The SELECT
// around an array hides its length from the planner, which would otherwise turn to
// sequential scans for large batches.

// manyRows is from how many rows on the text of a statement follows from what its rows
// share. For fewer there is one text, so that the server's statistics of statements
// stay few; see [frame.general].
const manyRows = 64

// frame is a statement but for its rows, which come between its two halves.
type frame struct {
	before, after string
	columns       []*driver.Column
	general       string // the statement for few rows
}

func newFrame(before string, columns []*driver.Column, after string) frame {
	f := frame{before: before, columns: columns, after: after}
	var c composer
	for i, column := range columns {
		if i == 0 {
			c.array(column)
		} else {
			c.either(column)
		}
	}
	f.general = f.around(&c)
	return f
}

func (f *frame) around(c *composer) string {
	return numbered(f.before + c.table() + f.after)
}

// statement is the text for rows, and its parameters after those that lead: the
// values, then the arrays.
func (f *frame) statement(lead []any, rows []driver.Row) (statement, error) {
	all, err := pass(f.columns, rows)
	if err != nil {
		return statement{}, err
	}
	if len(rows) < manyRows {
		return statement{f.general, generalArgs(lead, all)}, nil
	}
	return f.specific(lead, all), nil
}

// generalArgs are those of the general text, where a column has both a value and
// an array: one that has a value has an empty array, which unnest fills up with
// NULLs.
func generalArgs(lead []any, all []passed) []any {
	args := make([]any, len(lead)+2*len(all)-1)
	values := args[copy(args, lead):]
	arrays := values[len(all)-1:]
	for i, p := range all {
		arrays[i] = p.array
		if p.uniform {
			values[i-1], arrays[i] = p.value, "{}"
		}
	}
	return args
}

// specific writes the text for what these rows share.
func (f *frame) specific(lead []any, all []passed) statement {
	var c composer
	args := append(make([]any, 0, len(lead)+len(all)), lead...)
	var arrays []any
	for i, p := range all {
		column := f.columns[i]
		switch twin := f.twin(all[:i], p, column.Type); {
		case p.uniform:
			c.value(column)
			args = append(args, p.value)
		case twin != nil:
			c.again(column, twin)
		default:
			c.array(column)
			arrays = append(arrays, p.array)
		}
	}
	return statement{f.around(&c), append(args, arrays...)}
}

// twin is an earlier column that holds the same moments: the moment when a new row
// is due is that for which it is scheduled. Of all kinds, moments take the server
// longest to read.
func (f *frame) twin(earlier []passed, p passed, kind driver.ColumnType) *driver.Column {
	for i, e := range earlier {
		if kind == driver.Instant && f.columns[i].Type == kind && !e.uniform && e.array == p.array {
			return f.columns[i]
		}
	}
	return nil
}

// composer writes the table c, column by column.
type composer struct{ values, names, arrays []string }

func (c *composer) add(column *driver.Column, value string) {
	c.values = append(c.values, value+" AS "+quote(column.Name))
}

// value adds a column that is one value.
func (c *composer) value(column *driver.Column) {
	c.add(column, "?::"+postgresDDL.kinds[column.Type])
}

// array adds a column that is an array.
func (c *composer) array(column *driver.Column) {
	c.unnest(column)
	c.add(column, "u."+quote(column.Name))
}

// again adds a column whose array an earlier one has.
func (c *composer) again(column, earlier *driver.Column) { c.add(column, "u."+quote(earlier.Name)) }

// either adds a column that is an array or, beside an empty one, a value.
func (c *composer) either(column *driver.Column) {
	c.unnest(column)
	c.add(column, "coalesce(u."+quote(column.Name)+", ?::"+postgresDDL.kinds[column.Type]+")")
}

func (c *composer) unnest(column *driver.Column) {
	c.names = append(c.names, quote(column.Name))
	c.arrays = append(c.arrays, "(SELECT ?::"+postgresDDL.kinds[column.Type]+"[])")
}

func (c *composer) table() string {
	return "(SELECT " + strings.Join(c.values, ", ") + ", u.n FROM unnest(" + strings.Join(c.arrays, ", ") +
		") WITH ORDINALITY AS u(" + strings.Join(c.names, ", ") + ", n)) AS c"
}

// passed is a column of rows as a parameter: a value that is the same in all of
// them, or an array.
type passed struct {
	uniform bool
	value   any
	array   string
}

func pass(columns []*driver.Column, rows []driver.Row) ([]passed, error) {
	fields := make([]driver.Fields, len(rows))
	for i, r := range rows {
		fields[i] = driver.FieldsOf(r)
	}
	all := make([]passed, len(columns))
	for i, c := range columns {
		var err error
		if i > 0 && uniform(c, fields) {
			all[i].uniform = true
			all[i].value, err = c.ValueIn(fields[0])
		} else {
			all[i].array, err = columnArray(c, fields)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// uniform says whether a column is surely the same for all rows.
func uniform(c *driver.Column, rows []driver.Fields) bool {
	for _, r := range rows[1:] {
		if !same(c, rows[0], r) {
			return false
		}
	}
	return c.Type != driver.Bytes
}

func same(c *driver.Column, a, b driver.Fields) bool {
	switch c.Type {
	case driver.Text:
		return *c.Text(a) == *c.Text(b)
	case driver.Int:
		return c.Int(a) == c.Int(b)
	case driver.Bool:
		return *c.Bool(a) == *c.Bool(b)
	case driver.Instant:
		return c.Instant(a).Equal(*c.Instant(b))
	case driver.JSON:
		return c.In(a).IsZero() && c.In(b).IsZero()
	}
	return false
}

// Arrays are passed as literals in strings, which every driver and protocol
// passes on unchanged: with binary_parameters=yes a []byte would be sent as
// binary, and pq.Array makes NULL of a nil slice.

// columnArray is the array literal of a column of rows.
func columnArray(c *driver.Column, rows []driver.Fields) (array string, err error) {
	array = arrayOf(rows, func(b *strings.Builder, r driver.Fields) {
		err = cmp.Or(err, writeElement(b, c, r))
	})
	return array, err
}

func writeElement(b *strings.Builder, c *driver.Column, r driver.Fields) error {
	if c.IsNull(r) {
		b.WriteString("NULL")
		return nil
	}
	switch c.Type {
	case driver.Int:
		writeInt(b, c.Int(r))
	case driver.Bool:
		b.WriteString(strconv.FormatBool(*c.Bool(r)))
	case driver.Instant: // zero in a zone is zero too
		t := driver.Time(*c.Instant(r))
		if t.IsZero() {
			b.WriteString("NULL")
			return nil
		}
		writeInstant(b, t)
	case driver.Bytes:
		b.WriteString(`"\\x`)
		_, _ = hex.NewEncoder(b).Write(c.In(r).Bytes()) // a Builder takes all
		b.WriteByte('"')
	case driver.JSON:
		text, err := c.JSON(r)
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
func laneArrays(lanes []driver.LaneClaim, limits bool) []any {
	number := func(get func(driver.LaneClaim) int64) string {
		return arrayOf(lanes, func(b *strings.Builder, l driver.LaneClaim) { writeInt(b, get(l)) })
	}
	args := []any{
		number(func(l driver.LaneClaim) int64 { return int64(l.Lane) }),
		arrayOf(lanes, func(b *strings.Builder, l driver.LaneClaim) { writeInstant(b, driver.Time(l.After.DueOn)) }),
		number(func(l driver.LaneClaim) int64 { return l.After.ID }),
	}
	if limits {
		args = append(args, number(func(l driver.LaneClaim) int64 { return int64(max(l.Limit, 0)) }))
	}
	return args
}
