package postgres

import (
	"strings"
	"testing"
)

// For each version of a row PostgreSQL compares the columns of all indexes, their
// predicates included, to see whether it can be a HOT update. What lies behind texts
// has to be counted to, so indexed columns come before texts that are not.
func TestIndexedColumnsOfClaimedTablesComeFirst(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, emptyDSN(t))
	rows, err := g.DB().QueryContext(t.Context(), `
		WITH claimed AS (
			SELECT c.oid AS t FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE c.relkind = 'r' AND n.nspname = current_schema() AND c.relname <> 'wide'
				AND c.reloptions @> '{fillfactor=50,autovacuum_vacuum_cost_delay=0}'
		), indexed AS (
			SELECT DISTINCT c.t, d.refobjsubid AS place FROM claimed c
			JOIN pg_index i ON i.indrelid = c.t
			LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid
			JOIN pg_depend d ON d.objid IN (i.indexrelid, k.oid) AND d.refobjid = c.t AND d.refobjsubid > 0
		)
		SELECT c.t::regclass || '.' || a.attname FROM claimed c
		JOIN pg_attribute a ON a.attrelid = c.t AND a.attnum > 0
		JOIN indexed x ON x.t = c.t AND x.place = a.attnum
		WHERE EXISTS (
			SELECT 1 FROM pg_attribute b WHERE b.attrelid = c.t AND b.attnum BETWEEN 1 AND a.attnum - 1 AND b.attlen < 0
				AND NOT EXISTS (SELECT 1 FROM indexed y WHERE y.t = c.t AND y.place = b.attnum)
		)
		ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var behind []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		behind = append(behind, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if len(behind) > 0 {
		t.Errorf("indexed columns behind texts that are not: %s", strings.Join(behind, ", "))
	}
}
