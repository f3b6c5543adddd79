package driver

import "testing"

// Save would write the zero that a claim left in the column.
func TestAnUnclaimedColumnIsFixed(t *testing.T) {
	t.Parallel()
	type row struct {
		Record
		Note string `db:"note,unclaimed"`
	}
	defer func() {
		if p := recover(); p != "storage: rows.note: Save would overwrite an unclaimed column that is not fixed" {
			t.Errorf("it panicked with %v", p)
		}
	}()
	Define[row]("rows")
}

// An adapter keeps its statements by the schema.
func TestATableWithoutOptionsIsSeenWhole(t *testing.T) {
	t.Parallel()
	type row struct {
		Record
		Note string `db:"note"`
	}
	if table := Define[row]("rows"); table.worked() != &table.Schema {
		t.Error("workers see another schema")
	}
}
