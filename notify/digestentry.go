package notify

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/forget"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// digestEntry is one job in the digest of one of its recipients. Its key begins with the
// job's, so that a job is in one digest of a recipient, whatever is repeated. It is
// written once, in the transaction that ends its job as Digested.
type digestEntry struct {
	storage.Record
	Digest        string    `db:"digest,fixed,person"` // row key of the digest's job
	BusinessUnit  string    `db:"business_unit,fixed,plain"`
	RecipientRef  string    `db:"recipient_ref,fixed,null,person"`
	RecipientHash string    `db:"recipient_hash,fixed,person"`
	Recipient     Recipient `db:"recipient,fixed,json,address"`
	CreatedOn     time.Time `db:"created_on,fixed"`
}

var digestEntries = driver.Define[digestEntry]("digest_entry").Grows(driver.WithWork).
	Kept("Retention.Messages", "what a digest tells, or has told; it goes after the digest")

// entry is the delivery in a digest.
func (d delivery) entry(j *jobRow, now time.Time) (*digestEntry, error) {
	who := keys.Sum("belfry-digest-1", d.Recipient.Ref, d.Hash, d.Recipient.Inbox)
	at := j.Coordinates()
	key, err := keys.Join(at.PartitionKey, at.RowKey, hex.EncodeToString(who[:16]))
	return &digestEntry{
		Record:       storage.Record{Scope: j.Scope, Key: key, Kind: j.Kind, Lane: j.Lane, Status: statusRecorded},
		BusinessUnit: j.BusinessUnit, RecipientRef: d.Recipient.Ref, RecipientHash: d.Hash, Recipient: d.Recipient, CreatedOn: now,
	}, err
}

// source is where the entry's job is.
func (e *digestEntry) source() driver.Place {
	return driver.Place{Scope: e.Scope, Key: e.Key[:strings.LastIndexByte(e.Key, '\x1f')]}
}

func sourcesOf(entries []*digestEntry) []driver.Place {
	out := make([]driver.Place, len(entries))
	for i, e := range entries {
		out[i] = e.source()
	}
	return out
}

// digest is where the job of the entry's digest is.
func (e *digestEntry) digest() driver.Place {
	return driver.Place{Scope: e.Scope, Key: digestPartition(e.Kind) + "\x1f" + e.Digest}
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
	at      driver.Place
}

// enter puts entries into digests that nobody has begun with. It begins those that do
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
	places := make([]driver.Place, len(entries))
	for i, e := range entries {
		places[i] = driver.Place{Scope: e.Scope, Key: e.Key}
	}
	known, err := digestEntries.GetMany(ctx, tx, places, "digest")
	seen := map[driver.Place]bool{}
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
	of := map[driver.Place]*joining{}
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
// unless somebody has cancelled it.
const maxWindows = 50

// openDigests finds the digest of each group: one that is to be begun, or one that takes
// entries still. What comes too late for one goes into the next.
func (n generator) openDigests(ctx context.Context, tx storage.Tx, groups []*joining, now time.Time) (begin, join []*jobRow, err error) {
	chosen := map[driver.Place]bool{} // two groups may meet in one, by different zones
	for range maxWindows {
		places := make([]driver.Place, len(groups))
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
	return driver.Again("the digests of "+job, func() error { // entries of other jobs come between
		return digestEntries.Walk(ctx, tx, scope, driver.Query{Where: driver.Under(job), OrderBy: "key", Limit: maxPage}, func(page []*digestEntry) error {
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

func digestsOf(entries []*digestEntry) []driver.Place {
	out := make([]driver.Place, len(entries))
	for i, e := range entries {
		out[i] = e.digest()
	}
	return out
}

// entriesOf are those of one job, of its first thousand recipients.
func entriesOf(ctx context.Context, from driver.Reader, scope Scope, job string) ([]*digestEntry, error) {
	return digestEntries.Find(ctx, from, scope, driver.Query{Where: driver.Under(job), OrderBy: "key", Limit: maxPage})
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

// InDigest is where a job waits, or was told, for one of its recipients.
type InDigest struct {
	RecipientRef string
	// Digest is where the job of the digest is, which has the message.
	Digest Coordinates
	// On is when it goes, or went, in the recipient's zone.
	On time.Time
	// Status is that of the digest's job: Ready until On, Generated once there is a message.
	Status string
	// Others are the jobs beside this one, as far as 10,000.
	Others int
	// Reason says why the job was left out, or the digest has ended; empty: neither.
	Reason string
	// Named says that the message names the job; else it counts it at most.
	Named bool
}

// String is a line for people.
func (d InDigest) String() string {
	with := map[int]string{0: "", 1: ", with 1 other"}[min(d.Others, 2)]
	if d.Others > 1 {
		with = fmt.Sprintf(", with %d others", d.Others)
	}
	which := fmt.Sprintf("the digest of %s%s (%s)", d.On.Format("15:04"), with, d.On.Format("2006-01-02 MST"))
	switch {
	case d.Status == StatusCancelled:
		return "not told, since a person cancelled " + which
	case d.Reason != "":
		return "left out of " + which + ": " + d.Reason
	case d.Status == StatusGenerated && d.Named:
		return "told in " + which
	case d.Status == StatusGenerated:
		return "counted in " + which
	}
	return "waits for " + which
}

// Digests tells, for each recipient of a job whose type has a [Digest], which one has the
// job; at most a thousand. With a transaction it reads there, with nil in the bound one if
// there is one.
func (n *Notifier) Digests(ctx context.Context, tx storage.Tx, scope Scope, job Coordinates) ([]InDigest, error) {
	key, err := keys.Join(job.PartitionKey, job.RowKey)
	if err != nil {
		return nil, err
	}
	var entries []*digestEntry
	var digests map[driver.Place]*jobRow
	others := map[string]int{}
	err = n.read(ctx, tx, func(from driver.Reader) (err error) {
		if entries, err = entriesOf(ctx, from, scope, key); err != nil {
			return err
		}
		if digests, err = jobs.GetMany(ctx, from, digestsOf(entries)); err != nil {
			return err
		}
		for _, e := range entries {
			if _, known := others[e.Digest]; !known {
				all, err := digestEntries.Count(ctx, from, scope, maxCounted, driver.Eq("digest", e.Digest))
				if err != nil {
					return err
				}
				others[e.Digest] = max(all-1, 0)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := make([]InDigest, 0, len(entries))
	for _, e := range entries {
		in, err := n.inDigest(ctx, e, digests[e.digest()])
		if err != nil {
			return nil, err
		}
		in.Others = others[e.Digest]
		out = append(out, in)
	}
	return out, nil
}

// inDigest says where the entry is; digest is nil if it was forgotten for good.
func (n *Notifier) inDigest(ctx context.Context, e *digestEntry, digest *jobRow) (InDigest, error) {
	in := InDigest{RecipientRef: e.RecipientRef, Digest: Coordinates{digestPartition(e.Kind), e.Digest}, Reason: ReasonArtifactMissing}
	if digest == nil || digest.IsStub() {
		return in, nil
	}
	in.On, in.Status, in.Reason = digest.DigestOn, digest.Status, ""
	if w := n.registry.lookup(e.Kind).windows; w != nil {
		in.On = in.On.In(w.in(e.Recipient.Zone))
	}
	if digest.Frozen.isZero() {
		return in, nil
	}
	f, err := thaw(ctx, n.store.Blobs(), digest.Frozen)
	if errors.Is(err, storage.ErrNotFound) { // collected with what it was for
		return in, nil
	}
	in.Named = e.ID <= f.Last
	for _, l := range f.Left {
		if l.Entry == e.Key {
			in.Reason, in.Named = cmp.Or(l.Reason, StatusSkipped), false
		}
	}
	return in, err
}

// entryRule forgets entries once their digest is forgotten.
func entryRule() forget.Rule {
	return forget.Of(forget.Spec[digestEntry]{
		Table: digestEntries, By: "Messages",
		Created: func(e *digestEntry) time.Time { return e.CreatedOn },
		Old:     func(before time.Time) []driver.Cond { return []driver.Cond{driver.AtMost("created_on", before)} },
		Judge: func(ctx context.Context, from driver.Reader, _ forget.At, rows []*digestEntry) ([]forget.Verdict, error) {
			digests, err := jobs.GetMany(ctx, from, digestsOf(rows), "forgotten_on")
			out := make([]forget.Verdict, len(rows))
			for i, e := range rows {
				if d := digests[e.digest()]; d == nil || d.IsStub() {
					out[i] = forget.Delete
				}
			}
			return out, err
		},
	})
}

// keepDigested keeps jobs that a digest tells, or has told and is not forgotten.
func keepDigested(ctx context.Context, from driver.Reader, rows []*jobRow, verdicts []forget.Verdict) error {
	var places []driver.Place
	var asked []int
	for i, j := range rows {
		if j.Status == StatusDigested && verdicts[i] != forget.Keep {
			places, asked = append(places, jobs.PlaceOf(j)), append(asked, i)
		}
	}
	told, err := digestEntries.Under(ctx, from, places)
	if err != nil {
		return err
	}
	for n, i := range asked {
		if told[n] {
			verdicts[i] = forget.Keep
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
