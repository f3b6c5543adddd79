package tenant

import (
	"context"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// note stores which rows the new store has, each in the version that was compared.
func (r *run) note(ctx context.Context) error {
	if err := r.forgetPages(ctx, r.From); err != nil { // of a run that was cut off
		return err
	}
	for i, p := range r.pages {
		p.Key = fmt.Sprintf("%s%08d", pagesKeys, i)
	}
	for some := range slices.Chunk(r.pages, 20) {
		err := r.From.InTx(ctx, func(tx storage.Tx) error {
			if err := moves.Save(ctx, tx, r.head); err != nil { // a later run goes on
				return err
			}
			return inserted(moves.Insert(ctx, tx, some...))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pagesOf reads the next pages that were noted.
func (r *run) pagesOf(ctx context.Context, in storage.Store, limit int) (pages []*moveRow, err error) {
	err = in.View(ctx, func(from driver.Reader) (err error) {
		pages, err = moves.Find(ctx, from, r.Scope, driver.Query{Where: []driver.Cond{driver.AtLeast("key", pagesKeys)}, OrderBy: "key", Limit: limit})
		return err
	})
	return pages, err
}

func (r *run) forgetPages(ctx context.Context, in storage.Store) error {
	for {
		pages, err := r.pagesOf(ctx, in, page)
		if err != nil || len(pages) == 0 {
			return err
		}
		if err := in.InTx(ctx, func(tx storage.Tx) error { return moves.Delete(ctx, tx, pages...) }); err != nil {
			return err
		}
	}
}

// remove removes from the old store what the new one has, in the version that was compared.
// What was written to the old store since goes to the new one if that has no such row.
func (r *run) remove(ctx context.Context) error {
	for {
		pages, err := r.pagesOf(ctx, r.From, 1)
		if err != nil {
			return err
		}
		if len(pages) == 0 {
			break
		}
		if err := r.removePage(ctx, pages[0]); err != nil {
			return err
		}
	}
	r.report.Left = nil
	for _, s := range moved() {
		left := 0
		err := r.eachPage(ctx, r.From, s, nil, func(records []*driver.Record) error {
			n, err := r.late(ctx, s, records)
			left += n
			return err
		})
		if err != nil {
			return err
		}
		if left > 0 {
			r.report.Left = append(r.report.Left, Count{s.Name, left})
		}
	}
	return nil
}

// removePage removes the rows of a page, and the page.
func (r *run) removePage(ctx context.Context, p *moveRow) error {
	s, versions := table(p.Kind), map[int64]int64{}
	for i, id := range p.IDs {
		versions[id] = p.Versions[i]
	}
	return r.From.InTx(ctx, func(tx storage.Tx) error {
		rows, err := tx.Select(ctx, s, driver.Within(r.Scope), driver.Query{
			Columns: []string{"version"}, Where: []driver.Cond{driver.In("id", p.IDs)}, Limit: len(p.IDs),
		})
		if err != nil {
			return err
		}
		rows = slices.DeleteFunc(rows, func(row driver.Row) bool {
			rec := driver.RecordOf(row)
			return rec.Version != versions[rec.ID]
		})
		if err := discard(ctx, tx, s, rows); err != nil {
			return err
		}
		gone := *p
		return moves.Delete(ctx, tx, &gone)
	})
}

// discard deletes rows, which own their blobs no more.
func discard(ctx context.Context, tx storage.Tx, s *driver.Schema, rows []driver.Row) error {
	if len(rows) == 0 {
		return nil
	}
	var places []driver.ScopedKey
	for _, row := range rows {
		rec := driver.RecordOf(row)
		places = append(places, driver.ScopedKey{Scope: rec.Scope, Key: rec.Key})
	}
	owned, err := driver.OwnedBy(ctx, tx, s.Name, places...)
	if err != nil {
		return err
	}
	stale, err := tx.Delete(ctx, s, rows)
	if err != nil {
		return err
	}
	for i, place := range places {
		if o, owns := owned[place]; owns && !stale[i] {
			if err := driver.Release(ctx, tx, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// late brings rows to the new store that were written to the old one after it had been
// compared, and tells how many stay since the new store has such rows, too. Of tombstones
// the new store has all that is needed.
func (r *run) late(ctx context.Context, s *driver.Schema, records []*driver.Record) (left int, err error) {
	rows, err := r.load(ctx, r.From, s, records)
	if err != nil {
		return 0, err
	}
	here, err := r.load(ctx, r.To, s, records, "version")
	if err != nil {
		return 0, err
	}
	var gone, add []driver.Row
	for _, rec := range records {
		row := rows[rec.Key]
		switch {
		case row == nil:
			continue
		case here[rec.Key] == nil && atRest(r.From, row):
			add = append(add, row)
		case here[rec.Key] == nil || !isTombstone(s, row):
			left++
			continue
		}
		old := s.New()
		*driver.RecordOf(old) = *driver.RecordOf(row)
		gone = append(gone, old)
	}
	if len(add) > 0 {
		if _, err = driver.CopyOwned(ctx, r.From, r.To, r.Scope); err == nil {
			err = r.To.InTx(ctx, func(tx storage.Tx) error {
				_, err := tx.Insert(ctx, driver.Copying(s), add)
				return err
			})
		}
	}
	if err != nil || len(gone) == 0 {
		return left, err
	}
	return left, r.From.InTx(ctx, func(tx storage.Tx) error { return discard(ctx, tx, s, gone) })
}

// atRest says that no worker has the row in hand.
func atRest(store storage.Store, row driver.Row) bool {
	due := driver.DueOf(row)
	return due == nil || due.DueOn.IsZero() || !due.LeaseExpiresOn.After(driver.Now(store))
}

func isTombstone(s *driver.Schema, row driver.Row) bool {
	const column = "forgotten_on"
	return has(s, column) && !s.Column(column).Instant(driver.FieldsOf(row)).IsZero()
}

// undo takes back what a move has done before its switch.
func (r *run) undo(ctx context.Context) error {
	for _, s := range moved() {
		err := r.eachPage(ctx, r.To, s, nil, func(records []*driver.Record) error {
			rows := make([]driver.Row, len(records))
			for i, rec := range records {
				rows[i] = s.New()
				*driver.RecordOf(rows[i]) = *rec
			}
			return r.write(ctx, func(tx storage.Tx) error { return discard(ctx, tx, s, rows) })
		})
		if err != nil {
			return err
		}
	}
	if _, err := driver.DropOwned(ctx, r.To, nil, r.Scope); err != nil {
		return err
	}
	if err := r.forgetPages(ctx, r.From); err != nil {
		return err
	}
	if err := r.release(ctx, r.From); err != nil {
		return err
	}
	if err := r.From.InTx(ctx, func(tx storage.Tx) error { return moves.Delete(ctx, tx, r.head) }); err != nil {
		return err
	}
	return r.To.InTx(ctx, func(tx storage.Tx) error { return moves.Delete(ctx, tx, r.there) })
}
