package sqlstore

import "testing"

func TestCodesHaveAClass(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]Class{
		"23505": Unique, "55P03": LockTimeout, "40001": Serialization, "40P01": Serialization, "25006": ReadOnly,
		"53100": NoRoom, "53200": NoRoom, "53300": NoRoom, "53400": NoRoom, "57P01": Connection, "08006": Connection, "08P01": Connection,
		"57014": Unknown, "42P01": Unknown, "23514": Unknown, "": Unknown,
	} {
		if got := OfState(state); got != want {
			t.Errorf("SQLSTATE %s is %v instead of %v", state, got, want)
		}
	}
	for code, want := range map[int]Class{
		5: Busy, 261: Busy, 517: Serialization, 6: Busy, 15: Busy, // SQLITE_BUSY_RECOVERY, _SNAPSHOT
		2067: Unique, 1555: Unique, 2579: Unique, 1299: Unknown, 19: Unknown, // UNIQUE, PRIMARYKEY, ROWID, NOTNULL
		8: ReadOnly, 7: NoRoom, 13: NoRoom, 10: Connection, 1034: Connection, 14: Connection, 1: Unknown, 0: Unknown,
	} {
		if got := OfCode(code); got != want {
			t.Errorf("result code %d is %v instead of %v", code, got, want)
		}
	}
}
