package driver

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// CopyOwned copies the blobs that rows of a scope own from one store to another one, with
// their owners. Blobs keep their names, by which rows refer to them. It tells how many
// owners were copied, and may be repeated.
func CopyOwned(ctx context.Context, from, to Store, scope Scope) (copied int, err error) {
	return copied, eachOwner(ctx, from, to, scope, func(o *blobOwner) error {
		name, _, _ := strings.Cut(o.Key, "/")
		if err := CopyBlob(ctx, from, to, name); err != nil {
			return err
		}
		err := to.InTx(ctx, func(tx Tx) error { return to.Blobs().Keep(ctx, tx, o.owned()) })
		if errors.Is(err, ErrNotFound) { // its content is gone there, too
			return nil
		}
		copied++
		return err
	})
}

// DropOwned releases the blobs that rows of a scope own in one store, but not in like; nil:
// all of them. It tells how many owners it took.
func DropOwned(ctx context.Context, in, like Store, scope Scope) (dropped int, err error) {
	return dropped, eachOwner(ctx, in, like, scope, func(o *blobOwner) error {
		dropped++
		return in.InTx(ctx, func(tx Tx) error { return Release(ctx, tx, o.owned()) })
	})
}

func (r *blobOwner) owned() Owned {
	name, _, _ := strings.Cut(r.Key, "/")
	return Owned{Scope: r.OwnerScope, Table: r.OwnerTable, Key: r.OwnerKey, Refs: []Ref{{Name: name}}}
}

// eachOwner visits the owners of a scope in one store that the other does not have; nil:
// all of them.
func eachOwner(ctx context.Context, in, other Store, scope Scope, visit func(*blobOwner) error) error {
	for after := int64(0); ; {
		var page []*blobOwner
		err := in.View(ctx, func(from Reader) (err error) {
			page, err = blobOwners.Find(ctx, from, "", Query{Where: []Cond{Eq("owner_scope", scope), Greater("id", after)}, Limit: ownersPage})
			return err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		var places []ScopedKey
		for _, o := range page {
			places = append(places, ScopedKey{Key: o.Key})
		}
		var has map[ScopedKey]*blobOwner
		if other != nil {
			err = other.View(ctx, func(from Reader) (err error) {
				has, err = blobOwners.GetMany(ctx, from, places)
				return err
			})
		}
		if err != nil {
			return err
		}
		for _, o := range page {
			if after = o.ID; has[ScopedKey{Key: o.Key}] == nil {
				if err := visit(o); err != nil {
					return err
				}
			}
		}
	}
}

// CopyBlob copies a blob to another store, where it keeps its name, and the moment until
// which it is kept. One that is there already, or gone here, is left as it is.
func CopyBlob(ctx context.Context, from, to Store, name string) error {
	b, ok := to.Blobs().(*blobStore)
	if !ok {
		return errors.New("storage: copy blob: the store keeps its blobs in a way of its own")
	}
	header, err := headerOf(ctx, from, name)
	if err != nil || header == nil || !header.Complete {
		return err
	}
	switch there, err := headerOf(ctx, to, name); {
	case err != nil || there != nil && there.Complete:
		return err
	case there != nil: // begun, and cut off
		if _, err := b.remove(ctx, there, false); err != nil {
			return fmt.Errorf("storage: copy blob: %w", err)
		}
	}
	content, err := from.Blobs().Open(ctx, Ref{Name: name}, 0)
	if err != nil {
		return err
	}
	ref, err := b.put(ctx, name, content)
	if err = errors.Join(err, content.Close()); err != nil || header.KeptUntil.IsZero() {
		return err
	}
	return to.InTx(ctx, func(tx Tx) error { return b.KeepUntil(ctx, tx, header.KeptUntil, ref) })
}

// headerOf is the header of a blob; nil: there is none.
func headerOf(ctx context.Context, in Store, name string) (header *blobHeader, err error) {
	err = in.View(ctx, func(from Reader) (err error) {
		header, err = blobByName(ctx, from, Ref{Name: name})
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return header, err
}
