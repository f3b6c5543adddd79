package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/belfry-go/belfry/storage"
)

// historyTable records which migrations were applied. Its row 0 is the lock
// under which they run. A migration that the host's own tool applied has no time.
const historyTable = "schema_migration"

func (n names) createHistory() string {
	kinds := n.dialect.ddl.kinds
	number, text, instant := kinds[storage.Int], kinds[storage.Text], kinds[storage.Instant]
	return "CREATE TABLE IF NOT EXISTS " + n.table(historyTable) + ` ("number" ` + number + ` PRIMARY KEY, "file" ` + text +
		` NOT NULL, "checksum" ` + text + ` NOT NULL, "applied_on" ` + instant + `) ` + n.dialect.ddl.strict +
		`; INSERT INTO ` + n.table(historyTable) + ` VALUES (0, 'lock', '', NULL) ON CONFLICT ("number") DO NOTHING`
}

// missing returns which of all are not recorded, and refuses those that are with
// another checksum. Migrations that only the database knows are those of a newer
// version of this program.
func (s *Store) missing(ctx context.Context, db *session, all []migration) ([]migration, error) {
	sums, err := s.applied(ctx, db)
	if err != nil {
		return nil, err
	}
	var missing []migration
	for _, m := range all {
		sum, ok := sums[m.number]
		switch {
		case !ok:
			missing = append(missing, m)
		case sum != m.sum:
			return nil, fmt.Errorf("storage: migration %s was applied with checksum %s, but here it has %s: applied migrations must not be edited", m.file, sum, m.sum)
		}
	}
	return missing, nil
}

// applied returns the recorded checksums by number; none if there is no table.
func (s *Store) applied(ctx context.Context, db *session) (map[int]string, error) {
	sums := map[int]string{}
	found := false
	exists := s.cfg.Dialect.rebind(s.cfg.Dialect.catalog.exists())
	err := query(s.inside(ctx), db, exists, []any{s.names.live(historyTable)}, func(r *sql.Rows) error {
		for r.Next() {
			if err := r.Scan(&found); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && found {
		text := `SELECT "number", "checksum" FROM ` + s.names.table(historyTable)
		err = query(s.inside(ctx), db, text, nil, func(r *sql.Rows) error {
			var number int
			var sum string
			for r.Next() {
				if err := r.Scan(&number, &sum); err != nil {
					return err
				}
				sums[number] = sum
			}
			return nil
		})
	}
	if err != nil {
		return nil, s.failed(ctx, "read "+historyTable, err)
	}
	return sums, nil
}
