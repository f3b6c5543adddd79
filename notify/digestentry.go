package notify

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// digestEntry is one job in the digest of one of its recipients. Its key begins with the
// job's, so that a job is in one digest of a recipient, whatever is repeated. It is
// written once, in the transaction that ends its job as Digested.
type digestEntry struct {
	storage.Record
	Digest        string    `db:"digest,fixed,indexed,person"` // row key of the digest's job
	BusinessUnit  string    `db:"business_unit,fixed,plain"`
	RecipientRef  string    `db:"recipient_ref,fixed,null,indexed,person"`
	RecipientHash string    `db:"recipient_hash,fixed,indexed,person"`
	Recipient     Recipient `db:"recipient,fixed,json,address"`
	CreatedOn     time.Time `db:"created_on,fixed"`
	Lane          int16     `db:"lane,fixed"` // of the digest
}

var digestEntries = driver.Define[digestEntry]("digest_entry").Grows(driver.WithWork).
	Kept("Retention.Messages", "the contents of a digest; it goes after the digest")

// entry is the delivery in a digest.
func (d delivery) entry(j *jobRow, now time.Time) (*digestEntry, error) {
	who := keys.Sum("belfry-digest-1", d.Recipient.Ref, d.Hash, d.Recipient.Inbox)
	at := j.Coordinates()
	key, err := keys.Join(at.PartitionKey, at.RowKey, hex.EncodeToString(who[:16]))
	return &digestEntry{
		Record: storage.Record{Scope: j.Scope, Key: key, Kind: j.Kind, Status: statusRecorded}, Lane: j.Lane,
		BusinessUnit: j.BusinessUnit, RecipientRef: d.Recipient.Ref, RecipientHash: d.Hash, Recipient: d.Recipient, CreatedOn: now,
	}, err
}

// source is where the entry's job is.
func (e *digestEntry) source() driver.ScopedKey {
	return driver.ScopedKey{Scope: e.Scope, Key: e.Key[:strings.LastIndexByte(e.Key, '\x1f')]}
}

func sourcesOf(entries []*digestEntry) []driver.ScopedKey {
	out := make([]driver.ScopedKey, len(entries))
	for i, e := range entries {
		out[i] = e.source()
	}
	return out
}

// digest is where the job of the entry's digest is.
func (e *digestEntry) digest() driver.ScopedKey {
	return driver.ScopedKey{Scope: e.Scope, Key: digestPartition(e.Kind) + "\x1f" + e.Digest}
}

// aside has the recipients of a type with a Digest wait for it: they are rendered with
// the others of their window.
func (n generator) aside(j *jobRow, f *frozen) {
	if n.registry.lookup(j.Kind).windows == nil {
		return
	}
	for i := range f.Deliveries {
		if d := &f.Deliveries[i]; d.Open {
			d.Open, d.Digested = false, true
		}
	}
}

// joining are the entries that go into one digest, the first that is open to them.
type joining struct {
	entries []*digestEntry
	on      time.Time
	at      driver.ScopedKey
}

// enter puts entries into digests that no worker has begun with. It begins those that do
// not exist, and writes the others, so that no claim comes between: whoever loses an
// entry or a digest to another transaction begins his own again, since in it he would
// wait for rows in an order that is not everybody's.
func (n generator) enter(ctx context.Context, tx storage.Tx, entries []*digestEntry) error {
	open, err := n.unentered(ctx, tx, entries)
	if err != nil || len(open) == 0 {
		return err
	}
	now := driver.Now(n.store)
	groups, err := n.groups(open, now)
	if err != nil {
		return err
	}
	begin, join, err := n.openDigests(ctx, tx, groups, now)
	if err != nil {
		return err
	}
	isNew, err := jobs.Insert(ctx, tx, begin...)
	if err != nil {
		return err
	}
	if slices.Contains(isNew, false) {
		return errBegun
	}
	if err := jobs.Save(ctx, tx, join...); err != nil {
		return err
	}
	isNew, err = digestEntries.Insert(ctx, tx, open...)
	if err == nil && slices.Contains(isNew, false) {
		return errBegun
	}
	return err
}

// unentered are copies of the entries that do not exist: the others stay where they are.
func (n generator) unentered(ctx context.Context, tx storage.Tx, entries []*digestEntry) (out []*digestEntry, err error) {
	places := make([]driver.ScopedKey, len(entries))
	for i, e := range entries {
		places[i] = driver.ScopedKey{Scope: e.Scope, Key: e.Key}
	}
	known, err := digestEntries.GetMany(ctx, tx, places, "digest")
	seen := map[driver.ScopedKey]bool{}
	for i, e := range entries {
		if at := places[i]; known[at] == nil && !seen[at] {
			e := *e // the transaction may run again
			seen[at], out = true, append(out, &e)
		}
	}
	return out, err
}

// groups are the entries by the first digest that may take them.
func (n generator) groups(entries []*digestEntry, now time.Time) ([]*joining, error) {
	of := map[driver.ScopedKey]*joining{}
	var out []*joining
	for _, e := range entries {
		w := n.registry.lookup(e.Kind).windows
		if w == nil {
			return nil, fmt.Errorf("notify: type %q has no digest here", e.Kind)
		}
		on, err := w.first(now, e.Recipient.Zone)
		if err != nil {
			return nil, err
		}
		g := &joining{on: on}
		g.take(e)
		if of[g.at] == nil {
			of[g.at], g.entries = g, nil
			out = append(out, g)
		}
		of[g.at].entries = append(of[g.at].entries, e)
	}
	return out, nil
}

// take says which digest the entry goes into.
func (g *joining) take(e *digestEntry) {
	at := e.digestAt(g.on)
	e.Digest = at.RowKey
	g.at = e.digest()
}

// maxWindows is how many windows ahead an open digest is looked for: the next is,
// unless it was cancelled.
const maxWindows = 50

// openDigests finds the digest of each group: one that is to be begun, or one that takes
// entries still. What comes too late for one goes into the next.
func (n generator) openDigests(ctx context.Context, tx storage.Tx, groups []*joining, now time.Time) (begin, join []*jobRow, err error) {
	chosen := map[driver.ScopedKey]bool{} // two groups may meet in one, by different zones
	for range maxWindows {
		places := make([]driver.ScopedKey, len(groups))
		for i, g := range groups {
			places[i] = g.at
		}
		found, err := jobs.GetMany(ctx, tx, places)
		if err != nil {
			return nil, nil, err
		}
		var late []*joining
		for _, g := range groups {
			d := found[g.at]
			switch {
			case d != nil && !d.takesEntries():
				late = append(late, g)
				continue
			case chosen[g.at]:
				continue
			case d != nil:
				join = append(join, d)
			default:
				if d, err = g.entries[0].newDigest(g.on, now); err != nil {
					return nil, nil, err
				}
				begin = append(begin, d)
			}
			chosen[g.at] = true
		}
		if len(late) == 0 {
			return begin, join, nil
		}
		if groups, err = late, n.postpone(late, now); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, fmt.Errorf("notify: %d digests of one recipient were over before their window: %w", maxWindows, storage.ErrBusy)
}

// postpone has groups wait for the next window.
func (n generator) postpone(late []*joining, now time.Time) (err error) {
	for _, g := range late {
		w := n.registry.lookup(g.entries[0].Kind).windows
		if g.on, err = w.after(later(g.on, now), g.entries[0].Recipient.Zone); err != nil {
			return err
		}
		for _, e := range g.entries {
			g.take(e)
		}
	}
	return nil
}

// leaveDigests keeps the digests of a job from being begun with until the transaction
// that cancels the job is over, and says why it may not: one is under way.
func leaveDigests(ctx context.Context, tx storage.Tx, scope Scope, job string) error {
	return driver.RetryStale("the digests of "+job, func() error { // entries of other jobs come between
		return digestEntries.Walk(ctx, tx, scope, driver.Query{Where: driver.ChildrenOf(job), OrderBy: "key", Limit: maxPage}, func(page []*digestEntry) error {
			digests, err := jobs.GetMany(ctx, tx, digestsOf(page))
			if err != nil {
				return err
			}
			for _, d := range digests {
				if !d.takesEntries() {
					return fmt.Errorf("%w: Cancel of %s: its digest is %s", ErrActionRefused, job, d.Status)
				}
			}
			return jobs.Save(ctx, tx, slices.Collect(maps.Values(digests))...)
		})
	})
}

func digestsOf(entries []*digestEntry) []driver.ScopedKey {
	out := make([]driver.ScopedKey, len(entries))
	for i, e := range entries {
		out[i] = e.digest()
	}
	return out
}

// entriesOf are those of one job, of its first thousand recipients.
func entriesOf(ctx context.Context, from driver.Reader, scope Scope, job string) ([]*digestEntry, error) {
	return digestEntries.Find(ctx, from, scope, driver.Query{Where: driver.ChildrenOf(job), OrderBy: "key", Limit: maxPage})
}

// cancelJob cancels a job, and takes it out of the digests that it waits for.
func (n Support) cancelJob(ctx context.Context, scope Scope, key string, by By) error {
	return n.inTx(ctx, nil, func(tx storage.Tx) error {
		row, err := jobs.Get(ctx, tx, scope, key)
		waits := err == nil && row.Status == StatusDigested
		if waits {
			if err := leaveDigests(ctx, tx, scope, key); err != nil {
				return err
			}
		}
		return audit.Change(ctx, tx, jobs, scope, key, "Cancel", by, func(j *jobRow, now time.Time) string {
			if !waits && j.Status == StatusDigested {
				return changedSince
			}
			return j.cancel(now)
		})
	})
}

// entryRule forgets entries once their digest is forgotten.
func entryRule() sweep.Rule {
	return sweep.Retention[digestEntry]{
		Table: digestEntries, By: "Messages",
		Created: func(e *digestEntry) time.Time { return e.CreatedOn },
		Old:     func(before time.Time) []driver.Cond { return []driver.Cond{driver.AtMost("created_on", before)} },
		Judge: func(ctx context.Context, from driver.Reader, _ sweep.At, rows []*digestEntry) ([]sweep.Verdict, error) {
			digests, err := jobs.GetMany(ctx, from, digestsOf(rows), "forgotten_on")
			out := make([]sweep.Verdict, len(rows))
			for i, e := range rows {
				if d := digests[e.digest()]; d == nil || d.IsTombstone() {
					out[i] = sweep.Delete
				}
			}
			return out, err
		},
	}.Rule()
}

// keepDigested keeps jobs that a digest tells, or has told and is not forgotten.
func keepDigested(ctx context.Context, from driver.Reader, rows []*jobRow, verdicts []sweep.Verdict) error {
	var places []driver.ScopedKey
	var asked []int
	for i, j := range rows {
		if j.Status == StatusDigested && verdicts[i] != sweep.Keep {
			places, asked = append(places, jobs.ScopedKeyOf(j)), append(asked, i)
		}
	}
	told, err := digestEntries.HasChildren(ctx, from, places)
	if err != nil {
		return err
	}
	for n, i := range asked {
		if told[n] {
			verdicts[i] = sweep.Keep
		}
	}
	return nil
}

// entries are the jobs of a digest, the first thousand; nil for other jobs.
func (j *jobRow) entries(ctx context.Context, from driver.Reader) (out []Coordinates, err error) {
	if !j.isDigest() {
		return nil, nil
	}
	rows, err := digestEntries.Find(ctx, from, j.Scope, driver.Query{
		Columns: []string{"digest"}, Where: []driver.Cond{driver.Eq("digest", j.RowKey)}, Limit: maxPage,
	})
	for _, e := range rows {
		out = append(out, coordinates(e.source().Key, "", ""))
	}
	return out, err
}
