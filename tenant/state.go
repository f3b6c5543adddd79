package tenant

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/pause"
	"github.com/belfry-go/belfry/internal/tables"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// moveRow is how far a move has come: one row in each store. Each write to the new store
// raises its version there, so that of two runs of one move the earlier one fails. In the
// old store there are others from the switch on, one for each page of rows that were copied,
// so that only these are removed.
type moveRow struct {
	storage.Record           // Status: the phase; Kind: the table of a page
	Token          string    `db:"token,fixed,plain"` // of the move, and of the rows that it has claimed
	BegunOn        time.Time `db:"begun_on,fixed"`
	HeldOn         time.Time `db:"held_on"`
	EndedOn        time.Time `db:"ended_on"` // of the hold
	IDs            []int64   `db:"copied_ids,fixed,json,null,plain"`
	Versions       []int64   `db:"copied_versions,fixed,json,null,plain"`
}

var moves = driver.Define[moveRow]("tenant_move").Grows(driver.Bounded).
	Kept(driver.Always, "one for a tenant that has moved away; pages of what is to be removed until then")

// Schemas lists the tables of this package.
func Schemas() []*driver.Schema { return []*driver.Schema{&moves.Schema} }

const (
	headKey   = "move"
	pagesKeys = "page\x1f" // what the keys of pages begin with
)

// headIn is what a store knows of a move; nil: nothing.
func headIn(ctx context.Context, store storage.Store, scope storage.Scope) (head *moveRow, err error) {
	err = store.View(ctx, func(from driver.Reader) (err error) {
		head, err = moves.Get(ctx, from, scope, headKey)
		return err
	})
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	return head, err
}

// begin stores a new move in both stores, or takes over one that was cut off.
func (r *run) begin(ctx context.Context) error {
	if r.head != nil {
		if r.phase() == Moved {
			return nil
		}
		return r.takeOver(ctx)
	}
	if err := r.fits(ctx); err != nil {
		return err
	}
	token := make([]byte, 16)
	if _, err := io.ReadFull(r.From.Rand(), token); err != nil {
		return err
	}
	head := func(in storage.Store, phase Phase) *moveRow {
		return &moveRow{
			Record: storage.Record{Scope: r.Scope, Key: headKey, Status: string(phase)},
			Token:  hex.EncodeToString(token), BegunOn: driver.Now(in),
		}
	}
	was := r.there // of a move from there that ended, or of one that was cut off before it began
	r.head, r.there = head(r.From, Copying), head(r.To, Arriving)
	err := r.To.InTx(ctx, func(tx storage.Tx) error {
		if was != nil {
			if err := moves.Delete(ctx, tx, was); err != nil {
				return err
			}
		}
		return inserted(moves.Insert(ctx, tx, r.there))
	})
	if err == nil {
		err = r.From.InTx(ctx, func(tx storage.Tx) error { return inserted(moves.Insert(ctx, tx, r.head)) })
	}
	r.report.Phase = Copying
	return err
}

// inserted refuses what another run has begun at this moment.
func inserted(isNew []bool, err error) error {
	if err == nil && slices.Contains(isNew, false) {
		err = storage.ErrStale
	}
	return err
}

// takeOver has an earlier run of the move fail.
func (r *run) takeOver(ctx context.Context) error {
	err := r.From.InTx(ctx, func(tx storage.Tx) error { return moves.Save(ctx, tx, r.head) })
	if err == nil && r.there != nil {
		err = r.write(ctx, func(storage.Tx) error { return nil })
	}
	return err
}

// write runs f in a transaction of the new store, unless a later run goes on.
func (r *run) write(ctx context.Context, f func(storage.Tx) error) error {
	return r.To.InTx(ctx, func(tx storage.Tx) error {
		if err := moves.Save(ctx, tx, r.there); err != nil {
			return err
		}
		return f(tx)
	})
}

// enter stores the next phase.
func (r *run) enter(ctx context.Context, next Phase) error {
	head, now := *r.head, driver.Now(r.From)
	switch head.Status = string(next); next {
	case Held:
		head.HeldOn = now
	case Switched:
		head.EndedOn = now
		if err := r.write(ctx, func(storage.Tx) error { return nil }); err != nil { // the earlier run writes no more
			return err
		}
	}
	err := r.From.InTx(ctx, func(tx storage.Tx) error { return moves.Save(ctx, tx, &head) })
	if err == nil {
		r.head, r.report.Phase, r.report.Held = &head, next, max(head.EndedOn.Sub(head.HeldOn), 0)
	}
	return err
}

// arrive ends the move in the new store.
func (r *run) arrive(ctx context.Context) error {
	if r.there == nil {
		return nil
	}
	return r.To.InTx(ctx, func(tx storage.Tx) error {
		gone := *r.there
		if err := moves.Delete(ctx, tx, &gone); err != nil {
			return err
		}
		return audit.Write(ctx, tx, &audit.Entry{
			Record: storage.Record{Scope: r.Scope}, Subject: moves.Name, SubjectKey: headKey, SubjectID: gone.ID, SubjectVersion: gone.Version,
			Action: "Move", Actor: r.By.Actor, Reason: r.By.Reason, From: string(Arriving), On: driver.Now(r.To),
		})
	})
}

// stays are tables whose rows are about a database as a whole, or are copied in another
// way: blobs with their owners.
var stays = []string{
	"blob", "blob_chunk", "blob_owner", "store_identity", "retention", "served_kind", "recipient_hash_key", moves.Name,
}

// moved are the tables whose rows go with a tenant.
func moved() []*driver.Schema {
	return slices.DeleteFunc(tables.All(), func(s *driver.Schema) bool { return slices.Contains(stays, s.Name) })
}

// table is the one of that name.
func table(name string) *driver.Schema {
	all := tables.All()
	return all[slices.IndexFunc(all, func(s *driver.Schema) bool { return s.Name == name })]
}

// ofTenant are the conditions of rows of a tenant: a pause of all tenants is stored in the
// empty scope, and stays.
func ofTenant(s *driver.Schema, where ...driver.Cond) []driver.Cond {
	if has(s, "everywhere") {
		where = append(where, driver.Eq("everywhere", false))
	}
	return where
}

func has(s *driver.Schema, column string) bool {
	return slices.ContainsFunc(s.Columns, func(c driver.Column) bool { return c.Name == column })
}

// fits refuses stores between which the tenant cannot be moved.
func (r *run) fits(ctx context.Context) error {
	if r.there != nil && Phase(r.there.Status) != Moved && Phase(r.there.Status) != Arriving {
		return fmt.Errorf("%w: the tenant is being moved away from the new store", ErrRefused)
	}
	for _, check := range []func(context.Context) error{r.isFree, r.knowsRecipients, r.pauses, r.erasures} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	return nil
}

// isFree refuses a new store that has rows of the tenant. What it has of the tables that
// do not grow, such as settings, is replaced.
func (r *run) isFree(ctx context.Context) error {
	return r.To.View(ctx, func(from driver.Reader) error {
		for _, s := range moved() {
			if s.Growth == driver.Bounded {
				continue
			}
			n, err := from.Count(ctx, s, driver.Within(r.Scope), ofTenant(s), 1)
			if err != nil {
				return err
			}
			if n > 0 {
				return fmt.Errorf("%w: the new store has rows of the tenant, in %s", ErrRefused, s.Name)
			}
		}
		return nil
	})
}

// knowsRecipients refuses stores that know recipients under different keys.
func (r *run) knowsRecipients(ctx context.Context) error {
	old, err := recipientKey(ctx, r.From)
	if err != nil || len(old) == 0 {
		return err
	}
	now, err := recipientKey(ctx, r.To)
	if err != nil || len(now) == 0 {
		return err // it takes that of the old one
	}
	for _, name := range []string{"fingerprint", "former"} {
		column := table("recipient_hash_key").Column(name)
		was, _ := column.Value(old[0])
		if is, _ := column.Value(now[0]); is != was {
			return fmt.Errorf("%w: the stores know recipients under different keys (notify.Options.HashKey): rotate one of them first", ErrRefused)
		}
	}
	return nil
}

// recipientKey is the row that says under which key a store knows recipients, if it has one.
func recipientKey(ctx context.Context, store storage.Store) (rows []driver.Row, err error) {
	err = store.View(ctx, func(from driver.Reader) (err error) {
		rows, err = from.Select(ctx, table("recipient_hash_key"), driver.Within(""), driver.Query{Limit: 1})
		return err
	})
	return rows, err
}

// pauses refuses a new store that would send what is paused for all tenants of the old one.
func (r *run) pauses(ctx context.Context) error {
	for _, s := range []*driver.Schema{table("automation_pause"), table("notification_pause")} {
		old, err := pausesOfAll(ctx, r.From, s)
		if err != nil {
			return err
		}
		now, err := pausesOfAll(ctx, r.To, s)
		if err != nil {
			return err
		}
		for key := range old {
			if !now[key] {
				return fmt.Errorf("%w: the old store has a pause of all tenants that the new one lacks (%s, %s): pause it there, too, or resume it", ErrRefused, s.Name, key)
			}
		}
	}
	return nil
}

func pausesOfAll(ctx context.Context, store storage.Store, s *driver.Schema) (map[string]bool, error) {
	keys, now := map[string]bool{}, driver.Now(store)
	return keys, store.View(ctx, func(from driver.Reader) error {
		rows, err := from.Select(ctx, s, driver.Within(""), driver.Query{
			Columns: []string{"version"}, Limit: 1000,
			Where: []driver.Cond{
				driver.Eq("everywhere", true), driver.Eq("status", pause.StatusPaused),
				driver.Any(driver.Null("paused_until"), driver.Greater("paused_until", now)),
			},
		})
		for _, row := range rows {
			keys[driver.RecordOf(row).Key] = true
		}
		return err
	})
}

// erasures refuses to move while a person is being erased: it goes by ids of the old store.
func (r *run) erasures(ctx context.Context) error {
	return r.From.View(ctx, func(from driver.Reader) error {
		n, err := from.Count(ctx, table("erasure"), driver.Within(r.Scope), []driver.Cond{driver.NotNull("due_on")}, 1)
		if err == nil && n > 0 {
			err = fmt.Errorf("%w: a person of the tenant is being erased, which takes an hour: move it then", ErrRefused)
		}
		return err
	})
}

// count counts what there is to be moved.
func (r *run) count(ctx context.Context) error {
	return r.From.View(ctx, func(from driver.Reader) error {
		r.report.Tables = nil
		for _, s := range moved() {
			n, err := from.Count(ctx, s, driver.Within(r.Scope), ofTenant(s), 100_000_000)
			if err != nil {
				return err
			}
			if n > 0 {
				r.report.Tables = append(r.report.Tables, Count{s.Name, n})
			}
		}
		return nil
	})
}
