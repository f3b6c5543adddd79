package storage

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Keep takes the blobs out of the reach of Collect when tx commits. Zero refs
// are passed over; a blob that is gone or incomplete is an ErrNotFound.
func (b *blobStore) Keep(ctx context.Context, tx Tx, refs ...Ref) error {
	return b.KeepUntil(ctx, tx, time.Time{}, refs...)
}

// KeepUntil moves the moment of Collect when tx commits; the zero time is never.
func (b *blobStore) KeepUntil(ctx context.Context, tx Tx, until time.Time, refs ...Ref) error {
	if tx.Store() != b.store {
		return errors.New("storage: keep blob: the transaction belongs to another store")
	}
	for range 3 { // another Keep or Collect may write the same headers
		headers, err := wantedBlobs(ctx, tx, refs)
		if err != nil {
			return fmt.Errorf("storage: keep blob: %w", err)
		}
		var save []*blobHeader
		for _, h := range headers {
			if !h.DueOn.IsZero() && (until.IsZero() || h.DueOn.Before(until)) {
				h.DueOn = Time(until)
				save = append(save, h)
			}
		}
		err = blobHeaders.Save(ctx, tx, save...)
		if !errors.Is(err, ErrStale) {
			return err
		}
	}
	return fmt.Errorf("storage: keep blob: written by others meanwhile: %w", ErrBusy)
}

// wantedBlobs returns the headers of all refs, each once.
func wantedBlobs(ctx context.Context, tx Tx, refs []Ref) ([]*blobHeader, error) {
	wanted := map[string]bool{}
	var names []string
	for _, r := range refs {
		switch {
		case r.IsZero() || wanted[r.Name]:
			continue
		case !isBlobName(r.Name):
			return nil, ErrNotFound
		}
		wanted[r.Name] = true
		names = append(names, r.Name)
	}
	if len(names) == 0 {
		return nil, nil
	}
	headers, err := blobHeaders.Find(ctx, tx, "", Query{Where: []Cond{In("key", names), Eq("complete", true)}, Limit: len(names)})
	if err == nil && len(headers) < len(names) {
		err = ErrNotFound
	}
	return headers, err
}

// Delete removes a blob, kept or not.
func (b *blobStore) Delete(ctx context.Context, ref Ref) error {
	for range 3 {
		var header *blobHeader
		err := b.store.InTx(ctx, func(tx Tx) (err error) {
			header, err = blobByName(ctx, tx, ref)
			return err
		})
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		removed := false
		if err == nil {
			removed, err = b.remove(ctx, header)
		}
		if err != nil {
			return fmt.Errorf("storage: delete blob: %w", err)
		}
		if removed {
			return nil
		}
	}
	return fmt.Errorf("storage: delete blob: written by others meanwhile: %w", ErrBusy)
}

// Collect may run in any number of processes; each blob counts once.
func (b *blobStore) Collect(ctx context.Context, limit int) (int, error) {
	var headers []*blobHeader
	err := b.store.InTx(ctx, func(tx Tx) (err error) {
		headers, err = blobHeaders.Find(ctx, tx, "", Query{
			Where:   []Cond{Eq("lane", LaneNormal), AtMost("due_on", Now(b.store))},
			OrderBy: "due_on",
			Limit:   limit,
		})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("storage: collect blobs: %w", err)
	}
	collected := 0
	for _, h := range headers {
		removed, err := b.remove(ctx, h)
		if err != nil {
			return collected, fmt.Errorf("storage: collect blobs: %w", err)
		}
		if removed {
			collected++
		}
	}
	return collected, nil
}

// remove takes a blob away unless somebody wrote its header since it was read.
// The header goes first out of sight and last for good, so that Collect finds
// what a crash in between leaves.
func (b *blobStore) remove(ctx context.Context, header *blobHeader) (bool, error) {
	var marked blobHeader
	err := b.store.InTx(ctx, func(tx Tx) error {
		marked = *header
		marked.Complete, marked.DueOn = false, Now(b.store)
		return blobHeaders.Save(ctx, tx, &marked)
	})
	if err == nil {
		err = b.content.remove(ctx, header.Key)
	}
	if err == nil {
		err = b.store.InTx(ctx, func(tx Tx) error { return blobHeaders.Delete(ctx, tx, &marked) })
	}
	if errors.Is(err, ErrStale) {
		return false, nil
	}
	return err == nil, err
}
