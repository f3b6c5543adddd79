package sqlstore

import (
	"fmt"
	"regexp"
	"strings"
)

var identifier = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,40}$`)

// names makes the quoted names of tables and indexes.
type names struct {
	dialect        *Dialect
	schema, prefix string
}

// check refuses what could break out of its quotes or exceed a name's length.
func (n names) check() error {
	if n.schema != "" && !identifier.MatchString(n.schema) {
		return fmt.Errorf("storage: schema %q does not match %s", n.schema, identifier)
	}
	if n.prefix != "" && !identifier.MatchString(n.prefix) {
		return fmt.Errorf("storage: table prefix %q does not match %s", n.prefix, identifier)
	}
	return nil
}

// table is the qualified name of a table.
func (n names) table(name string) string {
	if n.schema == "" {
		return quote(n.prefix + name)
	}
	return quote(n.schema) + "." + quote(n.prefix+name)
}

// live is the name of a table as the database's catalog takes it.
func (n names) live(name string) string {
	if n.dialect == SQLite {
		return n.prefix + name
	}
	return n.table(name)
}

// index is the name of an index; databases put it beside its table.
func (n names) index(name string) string { return quote(n.prefix + name) }

func quote(name string) string { return `"` + name + `"` }

var placeholder = regexp.MustCompile(`\{(index:)?([a-z_][a-z0-9_]*)\}`)

// expand replaces {table} and {index:name} in the text of a migration. It
// refuses names that PostgreSQL would cut off.
func (n names) expand(text string) (string, error) {
	var long []string
	text = placeholder.ReplaceAllStringFunc(text, func(m string) string {
		part := placeholder.FindStringSubmatch(m)
		if len(n.prefix)+len(part[2]) > n.dialect.maxName {
			long = append(long, part[2])
		}
		if part[1] != "" {
			return n.index(part[2])
		}
		return n.table(part[2])
	})
	if long != nil {
		return "", fmt.Errorf("storage: table prefix %q is too long for %s", n.prefix, strings.Join(long, ", "))
	}
	return text, nil
}
