package sqlstore

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"github.com/belfry-go/belfry/storage"
)

// insertedBy is a column of PostgreSQL's tables that have fingerprints: the
// transaction that inserted the row. While it is the one that wrote the row's
// present version, nobody else has written it, by whatever means.
const insertedBy = `"inserted_by"`

// stretch is how many rows are walked for each key, at most.
const stretch = 4

// Untouched walks the rows from the first key to the last along their index,
// which takes a third of the time of looking up each key. Of keys that lie far
// apart it finds few. The bounds are hidden from the planner, so that it expects
// few rows and takes the index for the order. On SQLite it tells nothing, since
// a row that was written by hand would not be noticed there.
func (x *tx) Untouched(ctx context.Context, s *storage.Schema, scope storage.Scope, keys []string) (prints []int64, err error) {
	t := x.store.table(s)
	if t.dialect != PostgreSQL || len(keys) == 0 || !storable(keys[0]) || !storable(keys[len(keys)-1]) {
		return nil, x.usable(ctx)
	}
	b := newBuilder(t, "SELECT array_agg(r.print)::text FROM (SELECT "+quote(s.Fingerprint)+` AS print, "version", `+insertedBy+
		", xmin AS written_by FROM "+t.name+" WHERE ")
	if err = b.where(scope, nil); err == nil {
		b.write(` AND "key" >= (SELECT ?::text) AND "key" <= (SELECT ?::text) ORDER BY "scope", "key" LIMIT ?) AS r`,
			keys[0], keys[len(keys)-1], int64(stretch*len(keys)))
		b.write(` WHERE r."version" = 1 AND r.` + insertedBy + ` = r.written_by`)
		err = x.query(ctx, b.sql(), b.args, func(r *sql.Rows) error {
			var array sql.NullString
			for r.Next() {
				if err := r.Scan(&array); err != nil {
					return err
				}
			}
			prints, err = integers(array.String)
			return err
		})
	}
	if err != nil {
		return nil, x.fail(ctx, "untouched rows of "+s.Name, err)
	}
	return prints, nil
}

// integers are those of an array literal; nothing is none.
func integers(array string) ([]int64, error) {
	array = strings.Trim(array, "{}")
	if array == "" {
		return nil, nil
	}
	out := make([]int64, 0, strings.Count(array, ",")+1)
	for text := range strings.SplitSeq(array, ",") {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}
