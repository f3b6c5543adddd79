package sqlstore

import (
	"fmt"
	"regexp"
	"strings"
)

var identifier = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,40}$`)

// naming makes the quoted names of tables and indexes. Schema (PostgreSQL only) and
// Prefix may be empty.
type naming struct {
	Dialect        *Dialect
	Schema, Prefix string
}

// check refuses what could break out of its quotes or exceed a name's length.
func (n naming) check() error {
	if n.Schema != "" && !identifier.MatchString(n.Schema) {
		return fmt.Errorf("storage: schema %q does not match %s", n.Schema, identifier)
	}
	if n.Prefix != "" && !identifier.MatchString(n.Prefix) {
		return fmt.Errorf("storage: table prefix %q does not match %s", n.Prefix, identifier)
	}
	return nil
}

// table is the qualified name of a table.
func (n naming) table(name string) string {
	if n.Schema == "" {
		return quote(n.Prefix + name)
	}
	return quote(n.Schema) + "." + quote(n.Prefix+name)
}

// live is the name of a table as the database's catalog takes it.
func (n naming) live(name string) string {
	if n.Dialect == SQLite {
		return n.Prefix + name
	}
	return n.table(name)
}

// index is the name of an index; databases put it beside its table.
func (n naming) index(name string) string { return quote(n.Prefix + name) }

func quote(name string) string { return `"` + name + `"` }

var placeholder = regexp.MustCompile(`\{(index:)?([a-z_][a-z0-9_]*)\}`)

// expand replaces {table} and {index:name} in the text of a migration. It
// refuses names that PostgreSQL would cut off.
func (n naming) expand(text string) (string, error) {
	var long []string
	text = placeholder.ReplaceAllStringFunc(text, func(m string) string {
		part := placeholder.FindStringSubmatch(m)
		if len(n.Prefix)+len(part[2]) > n.Dialect.maxName {
			long = append(long, part[2])
		}
		if part[1] != "" {
			return n.index(part[2])
		}
		return n.table(part[2])
	})
	if long != nil {
		return "", fmt.Errorf("storage: table prefix %q is too long for %s", n.Prefix, strings.Join(long, ", "))
	}
	return text, nil
}
