package sqlite

import (
	"testing"
)

// Trap 10: instants as text are ordered as text.

func TestTrap10TextIsNotOrderedLikeTime(t *testing.T) {
	t.Parallel()
	db := raw(t, ":memory:")
	if !scan[bool](t, db, "SELECT '2026-03-01 10:00:00+02:00' > '2026-03-01 09:00:01+00:00'") {
		t.Error("08:00 UTC sorts before 09:00:01 UTC")
	}
}

func TestTrap10InstantsAreMicrosecondsInStrictTables(t *testing.T) {
	t.Parallel()
	s, _ := onFile(t, nil)
	insert(t, s, dueTasks(1)...)
	if got := scan[int64](t, s.DB(), "SELECT due_on FROM task WHERE typeof(due_on) = 'integer'"); got != noon.UnixMicro() {
		t.Errorf("noon is %d", got)
	}
	if _, err := s.DB().ExecContext(t.Context(), "UPDATE task SET due_on = '2026-03-01 10:00:00+02:00'"); err == nil {
		t.Error("a text could be stored as an instant")
	}
	for _, table := range []string{"task", "blob", "blob_chunk", "store_identity", "schema_migration"} {
		if !scan[bool](t, s.DB(), "SELECT strict FROM pragma_table_list WHERE name = '"+table+"'") {
			t.Errorf("%s is not STRICT", table)
		}
	}
}
