package sqlstore

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"

	"github.com/belfry-go/belfry/storage"
)

// builder writes a statement about one table whose shape depends on a query.
type builder struct {
	*table
	b    strings.Builder
	args []any
}

func newBuilder(t *table, head string) *builder {
	b := &builder{table: t}
	b.b.WriteString(head)
	return b
}

// write appends SQL with ? for each of args.
func (b *builder) write(sql string, args ...any) {
	b.b.WriteString(sql)
	b.args = append(b.args, args...)
}

func (b *builder) sql() string { return sqlx.Rebind(b.dialect.bindType, b.b.String()) }

func (b *builder) value(v any) any { return b.dialect.verbs.value(v) }

// where writes the scope and the conditions.
func (b *builder) where(scope storage.Scope, conds []storage.Cond) error {
	if scope == storage.AnyScope {
		b.write("TRUE")
	} else {
		b.write(`"scope" = ?`, string(scope))
	}
	for i := range conds {
		b.write(" AND ")
		if err := b.cond(&conds[i]); err != nil {
			return err
		}
	}
	return nil
}

var comparisons = map[storage.Op]string{
	storage.OpEq: " = ?", storage.OpLess: " < ?", storage.OpAtMost: " <= ?",
	storage.OpGreater: " > ?", storage.OpAtLeast: " >= ?",
}

func (b *builder) cond(c *storage.Cond) error {
	if c.Op == storage.OpAny {
		return b.oneOf(c.Conds)
	}
	column := b.schema.Column(c.Column)
	name := quote(column.Name)
	switch c.Op {
	case storage.OpNull:
		b.write(name + " IS NULL")
		return nil
	case storage.OpNotNull:
		b.write(name + " IS NOT NULL")
		return nil
	case storage.OpIn:
		return b.in(column, c.Value)
	}
	if err := b.fits(column, c.Value); err != nil {
		return err
	}
	if s, ok := c.Value.(string); ok && !storable(s) {
		if c.Op == storage.OpEq {
			b.write("FALSE")
			return nil
		}
		return &storage.ValueError{Table: b.schema.Name, Column: c.Column, Problem: "compared with text that cannot be stored"}
	}
	if is, ok := c.Value.(bool); ok && c.Op == storage.OpEq {
		// The bare column, since that is how partial indexes say it: SQLite does not
		// see that a parameter implies their predicate.
		if !is {
			b.write("NOT ")
		}
		b.write(name)
		return nil
	}
	if c.Op != storage.OpEq {
		name, _ = b.ordered(column)
	}
	b.write(name+comparisons[c.Op], b.value(c.Value))
	return nil
}

func (b *builder) oneOf(conds []storage.Cond) error {
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
func (b *builder) in(c *storage.Column, list any) error {
	switch l := list.(type) {
	case []string:
		if c.Kind == storage.Text {
			keep := make([]string, 0, len(l))
			for _, s := range l {
				if storable(s) {
					keep = append(keep, s)
				}
			}
			b.write(b.dialect.verbs.in(quote(c.Name), c.Kind), b.value(keep))
			return nil
		}
	case []int64:
		if c.Kind == storage.Int {
			b.write(b.dialect.verbs.in(quote(c.Name), c.Kind), b.value(l))
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
func (b *builder) fits(c *storage.Column, v any) error {
	ok := false
	switch v.(type) {
	case string:
		ok = c.Kind == storage.Text
	case int64:
		ok = c.Kind == storage.Int
	case bool:
		ok = c.Kind == storage.Bool
	case time.Time:
		ok = c.Kind == storage.Instant
	}
	if !ok {
		return fmt.Errorf("%s cannot be compared with a %T", c.Name, v)
	}
	return nil
}

// ordered is the column as it is ordered: text byte by byte.
func (b *builder) ordered(c *storage.Column) (string, error) {
	switch c.Kind {
	case storage.JSON, storage.Bytes:
		return "", fmt.Errorf("%s has no order", c.Name)
	case storage.Text:
		return quote(c.Name) + b.dialect.bytewise, nil
	}
	return quote(c.Name), nil
}
