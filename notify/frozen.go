package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// maxInline is how many bytes of frozen inputs a job's row holds itself.
const maxInline = 2 << 10

// frozen is what the first run of the generator made of a job: whom it is for,
// under which hashes, and what it says. Later runs use it, so that an address
// or a template that changes in between makes neither a conflict nor a second
// message.
type frozen struct {
	HashKey    string     `json:"hashKey,omitempty"` // fingerprint of the host's key
	Deliveries []delivery `json:"deliveries"`
	// Of a digest: the entries that it leaves out, and the id of the last one that it names.
	Left []leftOut `json:"left,omitempty"`
	Last int64     `json:"last,omitempty"`
}

// tracedOn is now where each recipient has a message, by which an erasure finds the job.
func (f frozen) tracedOn(now time.Time) time.Time {
	if slices.ContainsFunc(f.Deliveries, func(d delivery) bool { return d.Open || d.Recipient.Channel == "" && d.Recipient.Inbox == "" }) {
		return time.Time{}
	}
	return now
}

// problem says why one of the recipients is not reached; empty if all are.
func (f frozen) problem() string {
	for _, d := range f.Deliveries {
		if d.Problem != "" {
			return d.Problem
		}
	}
	return ""
}

// open reports whether some are not rendered yet.
func (f frozen) open() bool { return slices.ContainsFunc(f.Deliveries, delivery.isOpen) }

// delivery is one recipient with a normalised address and a rendered message.
type delivery struct {
	Recipient Recipient `json:"recipient"`
	Hash      string    `json:"hash,omitempty"` // RecipientKeyHash, of those with a channel
	Content   Content   `json:"content"`
	Problem   string    `json:"problem,omitempty"`  // reason code: nothing is sent
	Open      bool      `json:"open,omitempty"`     // it is not rendered yet
	Digested  bool      `json:"digested,omitempty"` // it waits for a digest, which renders it
}

// unrendered is d for a recipient for whom there is no message, which support sees.
func (d delivery) unrendered(reason string) delivery {
	d.Content, d.Problem, d.Recipient.Inbox, d.Open = Content{}, reason, "", false
	return d
}

func (d delivery) isRendered() bool { return !d.Open && (d.Problem == "" || d.Recipient.Inbox != "") }

func (d delivery) isOpen() bool { return d.Open }

// frozenRef is where the frozen inputs of a job are: in the row while they are
// small, else in a blob of their own. The zero value is none.
type frozenRef struct {
	Inline json.RawMessage `json:"inline,omitempty"`
	Blob   storage.Ref     `json:"blob,omitzero"`
}

func (r frozenRef) isZero() bool { return len(r.Inline) == 0 && r.Blob.IsZero() }

// freeze puts f where it belongs.
func freeze(ctx context.Context, blobs storage.Blobs, f frozen) (frozenRef, error) {
	text := mustJSON(f)
	if len(text) <= maxInline {
		return frozenRef{Inline: text}, nil
	}
	ref, err := blobs.Put(ctx, bytes.NewReader(text))
	return frozenRef{Blob: ref}, err
}

// thaw reads what an earlier run froze.
func thaw(ctx context.Context, blobs storage.Blobs, r frozenRef) (f frozen, err error) {
	text := []byte(r.Inline)
	if !r.Blob.IsZero() {
		if text, err = readBlob(ctx, blobs, r.Blob); err != nil {
			return f, fmt.Errorf("notify: frozen inputs: %w", err)
		}
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return f, fmt.Errorf("notify: frozen inputs: %w", err)
	}
	return f, nil
}
