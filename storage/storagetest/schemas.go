package storagetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/belfry-go/belfry/storage"
)

var schemaTheme = theme{
	name:    "schemas",
	missing: func(h Harness) string { return h.NoInspect },
	sentences: []sentence{
		{"the tables of every store are there", func(w *world) { Schemas(w.T, w.in, storage.Schemas()...) }},
		{"the tables of the suite are there", func(w *world) { Schemas(w.T, w.in, &w.things.Schema) }},
	},
}

// Schemas compares tables of a live database with the structs that describe
// them: every column is there, of a type that holds its kind, and is NOT NULL
// exactly where the zero value is stored as a value; no other column makes an
// Insert fail; the indexes that the verbs need are there, and none that a claim
// would have to write. Columns and indexes beyond those are allowed, since the
// database may be newer than the code.
func Schemas(t *testing.T, in *Instance, schemas ...*storage.Schema) {
	t.Helper()
	for _, s := range schemas {
		live, err := in.Inspect(t.Context(), s)
		if err != nil {
			t.Errorf("table %s: %v", s.Name, err)
			continue
		}
		for _, problem := range slices.Concat(columnProblems(s, live), indexProblems(s, live)) {
			t.Errorf("table %s: %s", s.Name, problem)
		}
	}
}

func columnProblems(s *storage.Schema, live *LiveTable) (problems []string) {
	there := map[string]LiveColumn{}
	for _, c := range live.Columns {
		there[c.Name] = c
	}
	for _, c := range s.Columns {
		l, ok := there[c.Name]
		delete(there, c.Name)
		switch {
		case !ok:
			problems = append(problems, fmt.Sprintf("column %s is missing", c.Name))
		case !slices.Contains(l.Kinds, c.Kind):
			problems = append(problems, fmt.Sprintf("column %s cannot hold its kind", c.Name))
		case l.NotNull == c.Null:
			problems = append(problems, fmt.Sprintf("column %s is NOT NULL: %t, nullable in the struct: %t", c.Name, l.NotNull, c.Null))
		}
	}
	for name, l := range there {
		if l.NotNull && !l.Generated {
			problems = append(problems, fmt.Sprintf("column %s, which the struct lacks, makes every Insert fail", name))
		}
	}
	return problems
}

// written by Claim and Extend, hence in no index
var written = []string{"status", "version", "lease_expires_on", "claim_token", "abandoned"}

func indexProblems(s *storage.Schema, live *LiveTable) (problems []string) {
	key, due := false, false
	for _, x := range live.Indexes {
		isKey := x.Unique && !x.Partial && slices.Equal(x.Columns, []string{"scope", "key"})
		isID := slices.Equal(x.Columns, []string{"id"})
		key = key || isKey
		due = due || slices.Equal(x.Columns, []string{"lane", "due_on", "id"}) && x.Partial && len(x.Touches) == 0
		if x.Unique && !isKey && !isID {
			problems = append(problems, fmt.Sprintf("index %s is a second unique constraint", x.Name))
		}
		for _, column := range slices.Concat(x.Columns, x.Touches) {
			if slices.Contains(written, column) {
				problems = append(problems, fmt.Sprintf("index %s depends on %s, so that every claim writes it", x.Name, column))
			}
		}
	}
	if !key {
		problems = append(problems, "there is no unique index of (scope, key)")
	}
	if !due {
		problems = append(problems, "there is no index of (lane, due_on, id) WHERE due_on IS NOT NULL")
	}
	return problems
}
