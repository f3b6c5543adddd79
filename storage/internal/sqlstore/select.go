package sqlstore

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/belfry-go/belfry/storage/driver"
)

// builder writes a statement about one table whose shape depends on a query.
type builder struct {
	*tableText
	b    strings.Builder
	args []any
}

func newBuilder(t *tableText, head string) *builder {
	b := &builder{tableText: t}
	b.b.WriteString(head)
	return b
}

// write appends SQL with ? for each of args.
func (b *builder) write(text string, args ...any) {
	b.b.WriteString(text)
	b.args = append(b.args, args...)
}

func (b *builder) statement() statement { return statement{b.dialect.rebind(b.b.String()), b.args} }

func (b *builder) value(v any) any { return b.dialect.value(v) }

// where writes the reach and the conditions.
func (b *builder) where(reach driver.ScopeFilter, conds []driver.Cond) error {
	if scope, one := reach.Scope(); one {
		b.write(`"scope" = ?`, string(scope))
	} else {
		b.write("TRUE")
	}
	for i := range conds {
		b.write(" AND ")
		if err := b.cond(&conds[i]); err != nil {
			return err
		}
	}
	return nil
}

var comparisons = map[driver.Op]string{
	driver.OpEq: " = ?", driver.OpLess: " < ?", driver.OpAtMost: " <= ?",
	driver.OpGreater: " > ?", driver.OpAtLeast: " >= ?",
}

func (b *builder) cond(c *driver.Cond) error {
	if c.Op == driver.OpAny {
		return b.oneOf(c.Conds)
	}
	column := b.schema.Column(c.Column)
	name := quote(column.Name)
	switch c.Op {
	case driver.OpNull:
		b.write(name + " IS NULL")
		return nil
	case driver.OpNotNull:
		b.write(name + " IS NOT NULL")
		return nil
	case driver.OpIn:
		return b.in(column, c.Value)
	}
	if err := b.fits(column, c.Value); err != nil {
		return err
	}
	if s, ok := c.Value.(string); ok && !storable(s) {
		if c.Op == driver.OpEq {
			b.write("FALSE")
			return nil
		}
		return &driver.ValueError{Table: b.schema.Name, Column: c.Column, Problem: "compared with text that cannot be stored"}
	}
	if is, ok := c.Value.(bool); ok && c.Op == driver.OpEq {
		// The bare column, since that is how partial indexes say it: SQLite does not
		// see that a parameter implies their predicate.
		if !is {
			b.write("NOT ")
		}
		b.write(name)
		return nil
	}
	if c.Op != driver.OpEq {
		name, _ = b.ordered(column)
	}
	b.write(name+comparisons[c.Op], b.value(c.Value))
	return nil
}

func (b *builder) oneOf(conds []driver.Cond) error {
	if len(conds) == 0 {
		b.write("FALSE")
		return nil
	}
	for i := range conds {
		b.write([]string{"(", " OR "}[min(i, 1)])
		if err := b.cond(&conds[i]); err != nil {
			return err
		}
	}
	b.write(")")
	return nil
}

// in leaves out texts that no row can have and a database would refuse.
func (b *builder) in(c *driver.Column, list any) error {
	switch l := list.(type) {
	case []string:
		if c.Type == driver.Text {
			keep := make([]string, 0, len(l))
			for _, s := range l {
				if storable(s) {
					keep = append(keep, s)
				}
			}
			b.write(b.dialect.in(quote(c.Name), c.Type), b.value(keep))
			return nil
		}
	case []int64:
		if c.Type == driver.Int {
			b.write(b.dialect.in(quote(c.Name), c.Type), b.value(l))
			return nil
		}
	}
	return fmt.Errorf("%s cannot be in a %T", c.Name, list)
}

func storable(s string) bool {
	return strings.IndexByte(s, 0) < 0 && utf8.ValidString(s)
}

// fits refuses a value that the column cannot be compared with: SQLite would
// answer that nothing is equal, PostgreSQL with an error.
func (b *builder) fits(c *driver.Column, v any) error {
	ok := false
	switch v.(type) {
	case string:
		ok = c.Type == driver.Text
	case int64:
		ok = c.Type == driver.Int
	case bool:
		ok = c.Type == driver.Bool
	case time.Time:
		ok = c.Type == driver.Instant
	}
	if !ok {
		return fmt.Errorf("%s cannot be compared with a %T", c.Name, v)
	}
	return nil
}

// ordered is the column as it is ordered: text byte by byte.
func (b *builder) ordered(c *driver.Column) (string, error) {
	switch c.Type {
	case driver.JSON, driver.Bytes:
		return "", fmt.Errorf("%s has no order", c.Name)
	case driver.Text:
		return quote(c.Name) + b.dialect.bytewise, nil
	}
	return quote(c.Name), nil
}

// selectText reads the rows within reach that q describes, and says which columns of them.
func (t *tableText) selectText(reach driver.ScopeFilter, q driver.Query) (s statement, columns []*driver.Column, err error) {
	columns, names := t.read(q.Columns)
	if len(q.Parents) > 0 {
		s, err = t.selectUnder(reach, q, names)
		return s, columns, err
	}
	b := newBuilder(t, "SELECT "+names+" FROM "+t.name+" WHERE ")
	err = b.where(reach, q.Where)
	if err == nil {
		err = b.order(&q)
	}
	if err != nil {
		return s, nil, err
	}
	b.write(" LIMIT ?", int64(q.Limit))
	return b.statement(), columns, nil
}

// selectUnder has a limit for each of the keys that are gone behind, and so a SELECT.
func (t *tableText) selectUnder(reach driver.ScopeFilter, q driver.Query, names string) (s statement, err error) {
	b := newBuilder(t, "")
	q.OrderBy = "key"
	for i, key := range q.Parents {
		if i > 0 {
			b.write(" UNION ALL ")
		}
		b.write("SELECT * FROM (SELECT " + names + " FROM " + t.name + " WHERE ")
		if err := b.where(reach, slices.Concat(driver.ChildrenOf(key), q.Where)); err != nil {
			return s, err
		}
		if err := b.order(&q); err != nil {
			return s, err
		}
		b.write(fmt.Sprintf(" LIMIT ?) AS u%d", i), int64(q.Limit))
	}
	return b.statement(), nil
}

// getText reads the rows at places, which are some, and says which columns of them. Those
// of one scope are selected like any others by their keys.
func (t *tableText) getText(places []driver.ScopedKey, columns []string) (statement, []*driver.Column, error) {
	scope := places[0].Scope
	if !slices.ContainsFunc(places, func(p driver.ScopedKey) bool { return p.Scope != scope }) {
		keys := make([]string, len(places))
		for i, p := range places {
			keys[i] = p.Key
		}
		return t.selectText(driver.Within(scope), driver.Query{
			Columns: columns, Where: []driver.Cond{driver.In("key", keys)}, Unordered: true, Limit: len(keys),
		})
	}
	read, names := t.read(columns)
	b := newBuilder(t, "")
	text, args := t.dialect.at(t.name, names, places)
	b.write(text, args...)
	return b.statement(), read, nil
}

// countText counts rows within reach, but reads no more than limit of them.
func (t *tableText) countText(reach driver.ScopeFilter, where []driver.Cond, limit int) (statement, error) {
	b := newBuilder(t, "SELECT count(*) FROM (SELECT 1 FROM "+t.name+" WHERE ")
	if err := b.where(reach, where); err != nil {
		return statement{}, err
	}
	b.write(" LIMIT ?) AS c", int64(limit))
	return b.statement(), nil
}

// underText tells the numbers of places under which there is a row.
func (t *tableText) underText(places []driver.ScopedKey, where []driver.Cond) (statement, error) {
	head, tail, args := t.dialect.under(t.name, places)
	b := newBuilder(t, "")
	b.write(head, args...)
	if err := b.where(driver.Everywhere(), where); err != nil {
		return statement{}, err
	}
	b.write(tail)
	return b.statement(), nil
}

// order writes the place behind which to go on, and the order.
func (b *builder) order(q *driver.Query) error {
	direction, comparison := "", ">"
	if q.Desc {
		direction, comparison = " DESC", "<"
	}
	if q.OrderBy == "" {
		if q.After != nil {
			b.write(` AND "id" `+comparison+" ?", q.After.ID)
		}
		if !q.Unordered {
			b.write(` ORDER BY "id"` + direction)
		}
		return nil
	}
	column := b.schema.Column(q.OrderBy)
	name, err := b.ordered(column)
	if err != nil {
		return err
	}
	nulls := column.Null && !excludesNull(q.Where, q.OrderBy)
	if q.After != nil {
		if err := b.behind(q, column, comparison, nulls && q.Desc); err != nil {
			return err
		}
		nulls = nulls && q.Desc
	}
	b.write(" ORDER BY " + name + direction + b.nulls(nulls, q.Desc) + `, "id"` + direction)
	return nil
}

// behind writes the condition of keyset paging.
func (b *builder) behind(q *driver.Query, c *driver.Column, comparison string, orNull bool) error {
	value := driver.Eq(c.Name, q.After.Value).Value // canonical
	if err := b.fits(c, value); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	name, _ := b.ordered(c)
	cond := "(" + name + `, "id") ` + comparison + " (?, ?)"
	if orNull {
		cond = "(" + cond + " OR " + name + " IS NULL)"
	}
	b.write(" AND "+cond, b.value(value), q.After.ID)
	return nil
}

// nulls writes where NULLs go, if there can be any: named without need, it would
// keep PostgreSQL from using an index for the order.
func (b *builder) nulls(possible, desc bool) string {
	switch {
	case !possible:
		return ""
	case desc:
		return b.dialect.nullsLast
	}
	return b.dialect.nullsFirst
}

// excludesNull reports whether one of the conditions is false for NULL.
func excludesNull(where []driver.Cond, column string) bool {
	for _, c := range where {
		if c.Column == column && c.Op != driver.OpNull && c.Op != driver.OpAny {
			return true
		}
	}
	return false
}

// tallyText counts rows within reach by kind, but reads no more than q.Limit of them. Its
// rows are values of columns, and a count.
func (t *tableText) tallyText(reach driver.ScopeFilter, q driver.CountBy) (s statement, columns []*driver.Column, err error) {
	by := make([]string, len(q.By))
	for i, name := range q.By {
		column := t.schema.Column(name)
		if column.Type == driver.JSON || column.Type == driver.Bytes {
			return s, nil, fmt.Errorf("%s has no kinds", name)
		}
		by[i], columns = quote(name), append(columns, column)
	}
	order := t.schema.Column(q.OrderBy)
	b := newBuilder(t, "")
	name, err := b.ordered(order)
	if err == nil && order.Type == driver.Bool {
		err = fmt.Errorf("%s has no lowest value", q.OrderBy)
	}
	if err != nil {
		return s, nil, err
	}
	inner, outer := slices.Clone(by), slices.Clone(by)
	if !slices.Contains(q.By, q.OrderBy) {
		inner, outer, columns = append(inner, quote(q.OrderBy)), append(outer, "min("+name+")"), append(columns, order)
	}
	b.write("SELECT " + strings.Join(append(outer, "count(*)"), ", ") + " FROM (SELECT " + strings.Join(inner, ", ") + " FROM " + t.name + " WHERE ")
	if err := b.where(reach, q.Where); err != nil {
		return s, nil, err
	}
	if order.Null && !excludesNull(q.Where, q.OrderBy) {
		b.write(" AND " + quote(q.OrderBy) + " IS NOT NULL")
	}
	b.write(" ORDER BY "+name+" LIMIT ?) AS c", int64(q.Limit))
	if len(by) > 0 {
		b.write(" GROUP BY " + strings.Join(by, ", "))
	}
	return b.statement(), columns, nil
}
