package sqlstore

import (
	"github.com/belfry-go/belfry/storage"
)

// Many rows are passed as a table c of their columns: each column is one array,
// except that one which is the same for all rows is passed as that one value,
// beside an empty array, which unnest fills up with NULLs. In most batches most
// columns are, and neither side then spells them out for every row. The first
// column, the id or the scope, is always an array: it says how many rows there
// are. The SELECT around an array hides its length from the planner, which would
// otherwise turn to sequential scans for large batches.

// pgRows is the text of c. Its parameters are the values, then the arrays.
func pgRows(columns []*storage.Column) string {
	values, arrays := "", ""
	for i, c := range columns {
		name, kind := quote(c.Name), postgresDDL.kinds[c.Kind]
		if i == 0 {
			values, arrays = "u."+name, "(SELECT ?::"+kind+"[])"
			continue
		}
		values += ", coalesce(u." + name + ", ?::" + kind + ") AS " + name
		arrays += ", (SELECT ?::" + kind + "[])"
	}
	return "(SELECT " + values + ", u.n FROM unnest(" + arrays + ") WITH ORDINALITY AS u(" + list(columns, "", "") + ", n)) AS c"
}

// pgArgs are the parameters of c, after those that lead.
func pgArgs(lead []any, columns []*storage.Column, rows []storage.Row) ([]any, error) {
	args := make([]any, len(lead)+2*len(columns)-1)
	fields := make([]storage.Fields, len(rows))
	for i, r := range rows {
		fields[i] = storage.FieldsOf(r)
	}
	values, arrays := args[copy(args, lead):], args[len(lead)+len(columns)-1:]
	for i, c := range columns {
		var err error
		if i > 0 && uniform(c, fields) {
			arrays[i] = "{}"
			values[i-1], err = c.ValueIn(fields[0])
		} else {
			arrays[i], err = columnArray(c, fields)
		}
		if err != nil {
			return nil, err
		}
	}
	return args, nil
}

// uniform says whether a column is surely the same for all rows.
func uniform(c *storage.Column, rows []storage.Fields) bool {
	for _, r := range rows[1:] {
		if !same(c, rows[0], r) {
			return false
		}
	}
	return c.Kind != storage.Bytes
}

func same(c *storage.Column, a, b storage.Fields) bool {
	switch c.Kind {
	case storage.Text:
		return *c.Text(a) == *c.Text(b)
	case storage.Int:
		return c.Int(a) == c.Int(b)
	case storage.Bool:
		return *c.Bool(a) == *c.Bool(b)
	case storage.Instant:
		return c.Instant(a).Equal(*c.Instant(b))
	case storage.JSON:
		return c.In(a).IsZero() && c.In(b).IsZero()
	}
	return false
}
