package driver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Owned are the blobs that one row names, which owns them: a message its attachments, a
// campaign its audience. A blob may have several owners.
type Owned struct {
	Scope Scope
	// Table and Key are the row's; of a table of the host's they are the host's choice.
	Table, Key string
	Refs       []Ref
}

// blobOwner says that a row owns a blob; its key is made by ownerKey. It is inserted in
// the transaction that stores the row, and deleted in the one that deletes or empties it.
type blobOwner struct {
	Record
	// Owner is a digest of the three that follow, by which rows are found.
	Owner      string `db:"owner,fixed,indexed,person"`
	OwnerScope Scope  `db:"owner_scope,fixed,plain"`
	OwnerTable string `db:"owner_table,fixed,plain"`
	OwnerKey   string `db:"owner_key,fixed,person"`
}

var blobOwners = Define[blobOwner]("blob_owner").Grows(WithWork).
	Kept("as the row that names the blob", "a blob goes a day after its last owner").
	Erased("as the row that names the blob")

// digest stands for the row, in any scope.
func (o Owned) digest() string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%d\x1f%s\x1f%s\x1f%s", len(o.Scope), o.Scope, o.Table, o.Key)))
	return hex.EncodeToString(sum[:16])
}

// ownerKey begins with the blob's name.
func ownerKey(name, owner string) string { return name + "/" + owner }

// ownersOf holds for all owners of a blob; '0' is the character behind '/'.
func ownersOf(name string) []Cond {
	return []Cond{AtLeast("key", name+"/"), Less("key", name+"0")}
}

// ownerRows are the rows of blob_owner for all that is owned, each once.
func ownerRows(owned []Owned) []*blobOwner {
	var out []*blobOwner
	seen := map[string]bool{}
	for _, o := range owned {
		digest := o.digest()
		for _, r := range o.Refs {
			if key := ownerKey(r.Name, digest); !r.IsZero() && !seen[key] {
				seen[key] = true
				out = append(out, &blobOwner{Record: Record{Key: key}, Owner: digest, OwnerScope: o.Scope, OwnerTable: o.Table, OwnerKey: o.Key})
			}
		}
	}
	return out
}

// refsOf are all that are owned.
func refsOf(owned []Owned) (refs []Ref) {
	for _, o := range owned {
		refs = append(refs, o.Refs...)
	}
	return refs
}

// Keep takes the blobs out of the reach of Collect when tx commits. Zero refs
// are passed over; a blob that is gone or incomplete is an ErrNotFound.
func (b *blobStore) Keep(ctx context.Context, tx Tx, owned ...Owned) error {
	for _, o := range owned {
		if o.Table == "" || o.Key == "" {
			return errors.New("storage: keep blob: its owner has no table or no key")
		}
		if err := cmp.Or(blobOwners.CheckScope(o.Scope), textError("owner_key", o.Key)); err != nil {
			return fmt.Errorf("storage: keep blob: %w", err)
		}
	}
	err := b.date(ctx, tx, refsOf(owned), func(h *blobHeader) bool {
		due := !h.DueOn.IsZero()
		h.DueOn = time.Time{}
		return due
	})
	if err != nil {
		return err
	}
	if _, err := blobOwners.Insert(ctx, tx, ownerRows(owned)...); err != nil {
		return fmt.Errorf("storage: keep blob: %w", err)
	}
	return nil
}

func textError(column, s string) error {
	if problem := textProblem(s); problem != "" {
		return &ValueError{Table: blobOwners.Name, Column: column, Problem: problem}
	}
	return nil
}

// KeepUntil moves the moment of Collect when tx commits.
func (b *blobStore) KeepUntil(ctx context.Context, tx Tx, until time.Time, refs ...Ref) error {
	until = Time(until)
	return b.date(ctx, tx, refs, func(h *blobHeader) (changed bool) {
		if until.After(h.KeptUntil) {
			h.KeptUntil, changed = until, true
		}
		if !h.DueOn.IsZero() && until.After(h.DueOn) {
			h.DueOn, changed = until, true
		}
		return changed
	})
}

// date lets change move the moments of blobs, and says whether it has.
func (b *blobStore) date(ctx context.Context, tx Tx, refs []Ref, change func(*blobHeader) bool) error {
	if !Same(tx.Store(), b.store) {
		return errors.New("storage: keep blob: the transaction belongs to another store")
	}
	for range 3 { // another Keep or Collect may write the same headers
		headers, err := wantedBlobs(ctx, tx, refs)
		if err != nil {
			return fmt.Errorf("storage: keep blob: %w", err)
		}
		save := slices.DeleteFunc(headers, func(h *blobHeader) bool { return !change(h) })
		err = blobHeaders.Save(ctx, tx, save...)
		if !errors.Is(err, ErrStale) {
			return err
		}
	}
	return fmt.Errorf("storage: keep blob: written by others meanwhile: %w", ErrBusy)
}

// Release says that rows own their blobs no more, in the transaction that deletes or
// empties them: a day later Collect removes those that have no owner by then. It may be
// told twice, and of blobs that are gone.
//
// The day is for a writer that keeps a blob at the same time, and has read its header before.
func Release(ctx context.Context, tx Tx, owned ...Owned) error {
	rows := ownerRows(owned)
	if len(rows) == 0 {
		return nil
	}
	var places []ScopedKey
	names := map[string]bool{}
	for _, r := range rows {
		name, _, _ := strings.Cut(r.Key, "/")
		names[name] = true
		places = append(places, ScopedKey{Key: r.Key})
	}
	err := RetryStale("the owners of blobs", func() error {
		found, err := blobOwners.GetMany(ctx, tx, places)
		if err != nil {
			return err
		}
		rows = rows[:0]
		for _, r := range found {
			rows = append(rows, r)
		}
		return blobOwners.Delete(ctx, tx, rows...)
	})
	if err != nil {
		return fmt.Errorf("storage: release blobs: %w", err)
	}
	err = RetryStale("the headers of blobs", func() error {
		headers, err := blobHeaders.Find(ctx, tx, "", Query{Where: []Cond{In("key", sortedNames(names)), Null("due_on")}, Limit: len(names)})
		if err != nil {
			return err
		}
		for _, h := range headers {
			h.DueOn = Now(tx.Store()).Add(keepBlobsBy)
			if h.KeptUntil.After(h.DueOn) {
				h.DueOn = h.KeptUntil
			}
		}
		return blobHeaders.Save(ctx, tx, headers...)
	})
	if err != nil {
		return fmt.Errorf("storage: release blobs: %w", err)
	}
	return nil
}

func sortedNames(names map[string]bool) []string {
	out := make([]string, 0, len(names))
	for n := range names {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// OwnedBy tells which blobs the rows of a table at places own, for each that owns some:
// in one statement.
func OwnedBy(ctx context.Context, from Reader, table string, places ...ScopedKey) (map[ScopedKey]Owned, error) {
	of := make(map[string]ScopedKey, len(places))
	var digests []string
	for _, p := range places {
		digest := Owned{Scope: p.Scope, Table: table, Key: p.Key}.digest()
		of[digest] = p
		digests = append(digests, digest)
	}
	out := map[ScopedKey]Owned{}
	if len(digests) == 0 {
		return out, nil
	}
	slices.Sort(digests)
	q := Query{Columns: []string{"owner"}, Where: []Cond{In("owner", digests)}, OrderBy: "owner", Limit: ownersPage}
	err := blobOwners.Walk(ctx, from, "", q, func(page []*blobOwner) error {
		for _, r := range page {
			name, _, _ := strings.Cut(r.Key, "/")
			p := of[r.Owner]
			o := out[p]
			out[p] = Owned{Scope: p.Scope, Table: table, Key: p.Key, Refs: append(o.Refs, Ref{Name: name})}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("storage: owners of blobs: %w", err)
	}
	return out, nil
}

// ownersPage is how many owners are read, or deleted, at once.
const ownersPage = 500
