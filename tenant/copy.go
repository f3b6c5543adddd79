package tenant

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

const (
	// lines is how many rows are listed at once, page how many are read and written.
	lines = 5000
	page  = 500
	// again is after what time the move looks again for what workers have in hand.
	again = 100 * time.Millisecond
	// most bounds how often both stores are compared: each time finds less.
	most = 20
	// patience is how often the move looks for results that are not counted.
	patience = 600
)

// eachPage visits the rows of the tenant in one store, in the order of their ids, by their
// places: new rows get ids in the same order, by which retention goes.
func (r *run) eachPage(ctx context.Context, in storage.Store, s *driver.Schema, where []driver.Cond, visit func([]*driver.Record) error) error {
	for after := int64(0); ; {
		var rows []driver.Row
		err := in.View(ctx, func(from driver.Reader) (err error) {
			rows, err = from.Select(ctx, s, driver.Within(r.Scope), driver.Query{
				Columns: []string{"version"}, Where: append(ofTenant(s, where...), driver.Greater("id", after)), Limit: lines,
			})
			return err
		})
		if err != nil {
			return err
		}
		for some := range slices.Chunk(rows, page) {
			records := make([]*driver.Record, len(some))
			for i, row := range some {
				records[i] = driver.RecordOf(row)
				after = records[i].ID
			}
			if err := visit(records); err != nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
		}
		if len(rows) < lines {
			return nil
		}
	}
}

// load reads rows by their places.
func (r *run) load(ctx context.Context, in storage.Store, s *driver.Schema, records []*driver.Record, columns ...string) (map[string]driver.Row, error) {
	places := make([]driver.ScopedKey, len(records))
	for i, rec := range records {
		places[i] = driver.ScopedKey{Scope: rec.Scope, Key: rec.Key}
	}
	rows := make(map[string]driver.Row, len(records))
	return rows, in.View(ctx, func(from driver.Reader) error {
		found, err := from.Get(ctx, s, places, columns)
		for _, row := range found {
			rows[driver.RecordOf(row).Key] = row
		}
		return err
	})
}

// copyEnded copies what no worker looks at any more, most of all, while the tenant works.
func (r *run) copyEnded(ctx context.Context) error {
	key, err := recipientKey(ctx, r.From)
	if err == nil && len(key) > 0 {
		err = r.write(ctx, func(tx storage.Tx) error {
			_, err := tx.Insert(ctx, driver.Copying(table("recipient_hash_key")), key)
			return err
		})
	}
	if err == nil {
		_, err = driver.CopyOwned(ctx, r.From, r.To, r.Scope)
	}
	if err != nil {
		return err
	}
	for _, s := range moved() {
		if s.Name == uncounted {
			continue
		}
		var ended []driver.Cond
		if s.Due {
			ended = []driver.Cond{driver.Null("due_on")}
		}
		err := r.eachPage(ctx, r.From, s, ended, func(records []*driver.Record) error {
			_, err := r.bring(ctx, s, records, nil)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// uncounted has what answers and links add to the results of surveys. The pollers of either
// store count it, wherever it comes from, so the old ones do so before the move goes on.
const uncounted = "survey_result_entry"

// claimed is the lease of rows that the move has claimed, in both stores: no worker takes
// them. inHand is that of rows whose worker had fallen silent, which are handled as such
// after the move.
var (
	claimed = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	inHand  = time.Date(9999, 1, 2, 0, 0, 0, 0, time.UTC)
)

// settle claims what is due, now or later, copies what the new store lacks, and compares
// all rows, until a comparison finds nothing: neither a row that is not the same, nor one
// that has become free since it was to be claimed.
func (r *run) settle(ctx context.Context) error {
	for n, looks := 0, 0; n < most; {
		if err := r.erasures(ctx); err != nil {
			return err
		}
		busy, err := r.claim(ctx)
		if err == nil && !busy {
			busy, err = r.counting(ctx)
			if looks++; busy && looks > patience {
				err = fmt.Errorf("%w: answers of surveys are not counted in the old store: let its poller run, with the survey.Service", ErrRefused)
			}
		}
		if err != nil {
			return err
		}
		if busy {
			select {
			case <-ctx.Done():
				return fmt.Errorf("the old store's pollers have rows of the tenant in hand, or answers of surveys to count: %w", ctx.Err())
			case <-r.From.Clock().After(again):
			}
			continue
		}
		if err := r.catchUp(ctx); err != nil {
			return err
		}
		changed, err := r.compare(ctx)
		if err != nil {
			return err
		}
		if changed == 0 {
			return r.note(ctx)
		}
		n++
	}
	return fmt.Errorf("%w: rows of the tenant kept changing after Hold had returned: a process writes to one of the stores", storage.ErrBusy)
}

// claim takes the due rows of the old store that no worker has. busy: a worker has others.
func (r *run) claim(ctx context.Context) (busy bool, err error) {
	for _, s := range moved() {
		if !s.Due {
			continue
		}
		if err := r.claimOf(ctx, s); err != nil {
			return busy, fmt.Errorf("%s: %w", s.Name, err)
		}
		err = r.From.View(ctx, func(from driver.Reader) error {
			n, err := from.Count(ctx, s, driver.Within(r.Scope), []driver.Cond{driver.NotNull("due_on"), driver.Less("lease_expires_on", claimed)}, 1)
			busy = busy || n > 0
			return err
		})
		if err != nil {
			return busy, err
		}
	}
	return busy, nil
}

// counting says that the old store's pollers have results to count.
func (r *run) counting(ctx context.Context) (is bool, err error) {
	err = r.From.View(ctx, func(from driver.Reader) error {
		n, err := from.Count(ctx, table(uncounted), driver.Within(r.Scope), nil, 1)
		is = n > 0
		return err
	})
	return is, err
}

func (r *run) claimOf(ctx context.Context, s *driver.Schema) error {
	for after, n := int64(0), page; n == page; {
		last := after
		err := r.From.InTx(ctx, func(tx storage.Tx) error {
			now := driver.Now(r.From)
			rows, err := tx.Select(ctx, s, driver.Within(r.Scope), driver.Query{Limit: page, Where: []driver.Cond{
				driver.Greater("id", after), driver.NotNull("due_on"),
				driver.Any(driver.Null("lease_expires_on"), driver.AtMost("lease_expires_on", now)),
			}})
			if n = len(rows); err != nil || n == 0 {
				return err
			}
			for _, row := range rows {
				due := driver.DueOf(row)
				if due.ClaimToken = r.head.Token; due.LeaseExpiresOn.IsZero() {
					due.LeaseExpiresOn = claimed
				} else {
					due.LeaseExpiresOn = inHand
				}
			}
			last = driver.RecordOf(rows[n-1]).ID
			_, err = tx.Update(ctx, s, rows) // what a worker was first to claim is found again
			return err
		})
		if err != nil {
			return err
		}
		after = last
	}
	return nil
}

// release gives back what the move has claimed.
func (r *run) release(ctx context.Context, in storage.Store) error {
	for _, s := range moved() {
		for more := s.Due; more; {
			err := in.InTx(ctx, func(tx storage.Tx) error {
				rows, err := tx.Select(ctx, s, driver.Within(r.Scope), driver.Query{Limit: page, Where: []driver.Cond{
					driver.NotNull("due_on"), driver.AtLeast("lease_expires_on", claimed), driver.Eq("claim_token", r.head.Token),
				}})
				if more = len(rows) == page; err != nil || len(rows) == 0 {
					return err
				}
				for _, row := range rows {
					due := driver.DueOf(row)
					if due.LeaseExpiresOn.Equal(inHand) {
						due.LeaseExpiresOn = driver.Now(in)
					} else {
						due.LeaseExpiresOn = time.Time{}
					}
				}
				stale, err := tx.Update(ctx, s, rows)
				more = more || slices.Contains(stale, true)
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
		}
	}
	return nil
}

// catchUp copies the rows whose version is another one in the new store, so that the
// comparison of all of them has to be made once.
func (r *run) catchUp(ctx context.Context) error {
	for _, s := range moved() {
		err := r.eachPage(ctx, r.From, s, nil, func(records []*driver.Record) error {
			here, err := r.load(ctx, r.To, s, records, "version")
			if err != nil {
				return err
			}
			late := slices.DeleteFunc(records, func(rec *driver.Record) bool {
				row := here[rec.Key]
				return row != nil && driver.RecordOf(row).Version == rec.Version
			})
			if len(late) > 0 {
				_, err = r.bring(ctx, s, late, sha256.New())
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// compare makes the new store like the old one, and tells how many rows were not.
func (r *run) compare(ctx context.Context) (changed int, err error) {
	if changed, err = driver.CopyOwned(ctx, r.From, r.To, r.Scope); err != nil {
		return changed, err
	}
	dropped, err := driver.DropOwned(ctx, r.To, r.From, r.Scope)
	if changed += dropped; err != nil {
		return changed, err
	}
	all := sha256.New()
	r.pages, r.report.Tables = nil, nil
	for _, s := range moved() {
		same := 0
		err := r.eachPage(ctx, r.From, s, nil, func(records []*driver.Record) error {
			n, err := r.bring(ctx, s, records, all)
			changed, same = changed+n, same+len(records)
			return err
		})
		if err == nil {
			err = r.eachPage(ctx, r.To, s, nil, func(records []*driver.Record) error {
				n, err := r.drop(ctx, s, records)
				changed += n
				return err
			})
		}
		if err != nil {
			return changed, err
		}
		if same > 0 {
			r.report.Tables = append(r.report.Tables, Count{s.Name, same})
		}
	}
	r.report.Hash = hex.EncodeToString(all.Sum(nil))
	return changed, nil
}

// bring copies rows of the old store that the new one does not have as they are, and tells
// how many. Without a hash only what is missing is copied; with one those that are the same
// are noted in it, and in pages.
func (r *run) bring(ctx context.Context, s *driver.Schema, records []*driver.Record, all hash.Hash) (changed int, err error) {
	var here map[string]driver.Row
	there, err := r.load(ctx, r.From, s, records)
	if err == nil && all != nil {
		here, err = r.load(ctx, r.To, s, records)
	}
	if err != nil {
		return 0, err
	}
	same := &moveRow{Record: storage.Record{Scope: r.Scope, Kind: s.Name}, Token: r.head.Token}
	var add, instead []driver.Row
	for _, rec := range records {
		row, was := there[rec.Key], here[rec.Key]
		if row == nil || !still(row) { // it is gone since, or due since
			changed++
			continue
		}
		if was != nil {
			is, err := sum(s, row)
			if err != nil {
				return changed, err
			}
			if old, err := sum(s, was); err != nil {
				return changed, err
			} else if is == old {
				all.Write(is[:])
				same.IDs, same.Versions = append(same.IDs, driver.RecordOf(row).ID), append(same.Versions, driver.RecordOf(row).Version)
				continue
			}
			instead = append(instead, was)
		}
		changed++
		add = append(add, row)
	}
	if len(same.IDs) > 0 {
		r.pages = append(r.pages, same)
	}
	if len(add) == 0 {
		return changed, nil
	}
	if err := r.traces(ctx, s, add); err != nil {
		return changed, err
	}
	return changed, r.write(ctx, func(tx storage.Tx) error {
		if len(instead) > 0 {
			if _, err := tx.Delete(ctx, s, instead); err != nil {
				return err
			}
		}
		_, err := tx.Insert(ctx, driver.Copying(s), add) // what is there is compared the next time
		return err
	})
}

// still says that no worker of either store looks at a row: it is not due, or claimed by
// the move.
func still(row driver.Row) bool {
	due := driver.DueOf(row)
	return due == nil || due.DueOn.IsZero() || !due.LeaseExpiresOn.Before(claimed)
}

// traces copies what is kept for a while without an owner: how a run came about.
func (r *run) traces(ctx context.Context, s *driver.Schema, rows []driver.Row) error {
	const column = "trace_blob_name"
	if !has(s, column) {
		return nil
	}
	for _, row := range rows {
		if name := *s.Column(column).Text(driver.FieldsOf(row)); name != "" {
			if err := driver.CopyBlob(ctx, r.From, r.To, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// drop removes rows from the new store that the old one does not have any more.
func (r *run) drop(ctx context.Context, s *driver.Schema, records []*driver.Record) (dropped int, err error) {
	there, err := r.load(ctx, r.From, s, records, "version")
	if err != nil {
		return 0, err
	}
	var gone []driver.Row
	for _, rec := range records {
		if there[rec.Key] == nil {
			row := s.New()
			*driver.RecordOf(row) = *rec
			gone = append(gone, row)
		}
	}
	if len(gone) == 0 {
		return 0, nil
	}
	return len(gone), r.write(ctx, func(tx storage.Tx) error {
		_, err := tx.Delete(ctx, s, gone)
		return err
	})
}

// sum is a hash of a row, but for its id.
func sum(s *driver.Schema, row driver.Row) (out [sha256.Size]byte, err error) {
	h, fields := sha256.New(), driver.FieldsOf(row)
	fmt.Fprintf(h, "%s\n", s.Name)
	for i := range s.Columns {
		c := &s.Columns[i]
		if c.Name == "id" {
			continue
		}
		v, err := c.ValueIn(fields)
		if err != nil {
			return out, err
		}
		switch v := v.(type) {
		case nil:
			h.Write([]byte{0})
		case string:
			fmt.Fprintf(h, "%d:", len(v))
			h.Write([]byte(v))
		case []byte:
			fmt.Fprintf(h, "%d:", len(v))
			h.Write(v)
		case time.Time:
			fmt.Fprintf(h, "%d,", v.UnixMicro())
		default:
			fmt.Fprintf(h, "%v,", v)
		}
	}
	h.Sum(out[:0])
	return out, nil
}
