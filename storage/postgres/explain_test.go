package postgres

import (
	"database/sql"
	"encoding/json"
	"slices"
	"testing"
)

// plan is a node of what EXPLAIN (ANALYZE, BUFFERS, WAL, FORMAT JSON) says.
type plan struct {
	Type     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Rows     float64 `json:"Actual Rows"`
	Hit      int     `json:"Shared Hit Blocks"`
	Read     int     `json:"Shared Read Blocks"`
	Plans    []*plan `json:"Plans"`
}

// buffers is how many pages the statement touched.
func (p *plan) buffers() int { return p.Hit + p.Read }

// scans are the types of the nodes that read a table.
func (p *plan) scans() (types []string) {
	if p.Relation != "" && p.Type != "ModifyTable" {
		types = append(types, p.Type)
	}
	for _, child := range p.Plans {
		types = append(types, child.scans()...)
	}
	return types
}

func (p *plan) sequential() bool { return slices.Contains(p.scans(), "Seq Scan") }

// explained runs a statement and takes back what it did.
func explained(t testing.TB, db *sql.DB, s statement) *plan {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	var text string
	row := tx.QueryRowContext(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+s.text, s.args...)
	if err := row.Scan(&text); err != nil {
		t.Fatal(s.text, err)
	}
	var plans []struct{ Plan *plan }
	if err := json.Unmarshal([]byte(text), &plans); err != nil {
		t.Fatal(err)
	}
	return plans[0].Plan
}
