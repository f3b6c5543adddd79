package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/storage"
)

// CheckTables compares the tables of the database with the schemas: every column
// with its type and nullability, the unique (scope, key), the due index, and that
// no index touches a column that claims write, in its key, INCLUDE, expressions
// or predicate: with one, claims stop being cheap. The error lists all
// differences. A host that runs migrations with its own tool can call it after
// opening.
func (s *Store) CheckTables(ctx context.Context, schemas ...*storage.Schema) error {
	var problems []string
	for _, schema := range schemas {
		live, err := Inspect(ctx, s, schema)
		if err != nil {
			return err
		}
		if len(live.Columns) == 0 {
			problems = append(problems, schema.Name+": there is no such table")
			continue
		}
		for _, p := range slices.Concat(checkColumns(schema, live), checkIndexes(live)) {
			problems = append(problems, schema.Name+": "+p)
		}
		for _, p := range []string{s.cfg.Dialect.checkOrder(live), s.cfg.Dialect.checkInserter(schema, live)} {
			if p != "" {
				problems = append(problems, schema.Name+": "+p)
			}
		}
	}
	if problems != nil {
		return fmt.Errorf("storage: the tables differ from what this program needs: %s", strings.Join(problems, "; "))
	}
	return nil
}

func checkColumns(schema *storage.Schema, live *LiveTable) (problems []string) {
	known := map[string]bool{}
	for i := range schema.Columns {
		c := &schema.Columns[i]
		known[c.Name] = true
		at := slices.IndexFunc(live.Columns, func(l LiveColumn) bool { return l.Name == c.Name })
		if at < 0 {
			problems = append(problems, "there is no column "+c.Name)
			continue
		}
		l := live.Columns[at]
		if !slices.Contains(l.Kinds, c.Kind) {
			problems = append(problems, "column "+c.Name+" has the type "+l.Type)
		}
		if l.NotNull == c.Null {
			problems = append(problems, fmt.Sprintf("column %s is NOT NULL: %t, but can be NULL here: %t", c.Name, l.NotNull, c.Null))
		}
	}
	for _, l := range live.Columns {
		if !known[l.Name] && l.NotNull && !l.Generated {
			problems = append(problems, "column "+l.Name+" is not known here and must not be left out")
		}
	}
	return problems
}

// checkOrder refuses keys that are not ordered by their bytes: their index would
// be of no use for that order.
func (d *Dialect) checkOrder(live *LiveTable) string {
	for _, l := range live.Columns {
		if l.Name == "key" && d.bytewise != "" && l.Collation != "C" {
			return fmt.Sprintf(`column key has the collation %q instead of "C"`, l.Collation)
		}
	}
	return ""
}

// checkInserter wants the column by which Untouched tells who wrote a row.
func (d *Dialect) checkInserter(schema *storage.Schema, live *LiveTable) string {
	is := func(l LiveColumn) bool { return quote(l.Name) == insertedBy && l.Type == "xid" && l.Generated }
	if d != PostgreSQL || schema.Fingerprint == "" || slices.ContainsFunc(live.Columns, is) {
		return ""
	}
	return "there is no column inserted_by of the type xid with the inserting transaction as its default"
}

// claimed are the columns that Claim and Extend write.
var claimed = []string{"status", "version", "lease_expires_on", "claim_token", "abandoned"}

func checkIndexes(live *LiveTable) (problems []string) {
	var unique, due bool
	for _, i := range live.Indexes {
		columns := strings.Join(i.Columns, ",")
		unique = unique || i.Unique && columns == "scope,key" && i.Where == ""
		due = due || columns == "lane,due_on,id" && i.Where == "due_onisnotnull"
		for _, c := range claimed {
			if slices.Contains(i.Columns, c) || slices.Contains(i.Touches, c) {
				problems = append(problems, "index "+i.Name+" touches "+c+", which claims write")
			}
		}
		if i.Unique && columns != "scope,key" && columns != "id" {
			problems = append(problems, "index "+i.Name+" is unique beside (scope, key): Insert could fail on it")
		}
	}
	if !unique {
		problems = append(problems, "there is no unique index on (scope, key)")
	}
	if !due {
		problems = append(problems, "there is no index on (lane, due_on, id) WHERE due_on IS NOT NULL")
	}
	return problems
}
