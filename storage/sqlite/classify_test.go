package sqlite

import (
	"testing"

	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

func TestErrorsOfTheLibraryHaveAClass(t *testing.T) {
	t.Parallel()
	db := raw(t, ":memory:")
	db.SetMaxOpenConns(1)
	execSQL(t, db, "CREATE TABLE t (n UNIQUE NOT NULL)", "INSERT INTO t VALUES (1)")
	for text, want := range map[string]sqlstore.Class{
		"INSERT INTO t VALUES (1)":    sqlstore.Unique,
		"INSERT INTO t VALUES (NULL)": sqlstore.Unknown,
		"SELECT nothing":              sqlstore.Unknown,
	} {
		if _, err := db.ExecContext(t.Context(), text); classify(err) != want {
			t.Errorf("%s: %v is not %v", text, err, want)
		}
	}
	execSQL(t, db, "PRAGMA max_page_count = 2")
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE u (n)"); classify(err) != sqlstore.NoRoom {
		t.Errorf("a full disk: %v", err)
	}
	execSQL(t, db, "PRAGMA query_only = 1")
	if _, err := db.ExecContext(t.Context(), "INSERT INTO t VALUES (2)"); classify(err) != sqlstore.ReadOnly {
		t.Errorf("a reader that writes: %v", err)
	}
}
