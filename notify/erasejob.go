package notify

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// jobs are those of the person's messages, those that have no message yet, and
// those about what is the person's.
func (s dataSubject) jobs() (out []sweep.Way[jobRow]) {
	for _, way := range s.messages() {
		out = append(out, sweep.Via(way, jobs, func(m *messageRow) []driver.ScopedKey { return []driver.ScopedKey{m.job()} }))
	}
	for _, way := range s.inbox() {
		out = append(out, sweep.Via(way, jobs, func(m *userMessageRow) []driver.ScopedKey {
			return []driver.ScopedKey{{Scope: m.Scope, Key: joined(m.JobPartitionKey, m.JobRowKey)}}
		}))
	}
	for _, way := range s.entries() {
		out = append(out, sweep.Via(way, jobs, func(e *digestEntry) []driver.ScopedKey {
			return append(digestsOf([]*digestEntry{e}), e.source())
		}))
	}
	out = append(out, sweep.By(jobs, s.Scope, driver.Null("traced_on"), driver.Null("forgotten_on")))
	for _, e := range s.Entities {
		if within, err := under(e.ID); err == nil {
			out = append(out, sweep.By(jobs, s.Scope, within...))
		}
	}
	return out
}

// entries are those of digests to a Ref, and to an address that names none.
func (s dataSubject) entries() (out []sweep.Way[digestEntry]) {
	if s.Ref != "" {
		out = append(out, sweep.By(digestEntries, s.Scope, driver.Eq("recipient_ref", s.Ref)))
	}
	for _, hash := range s.hashes("") {
		out = append(out, sweep.By(digestEntries, s.Scope, driver.Null("recipient_ref"), driver.Eq("recipient_hash", hash)))
	}
	return out
}

// judgeJob takes the person out of a job, and cancels and redacts one that no other person
// is in, or that is about the person alone.
func (s dataSubject) judgeJob(ctx context.Context, at sweep.At, j *jobRow) (sweep.Fate, error) {
	if j.IsTombstone() {
		return sweep.Fate{}, nil
	}
	blobs, before := s.n.store.Blobs(), j.Frozen.Blob
	f, err := s.thaw(ctx, j)
	if err != nil {
		return sweep.Fate{}, err
	}
	named, frozen := len(j.Recipients), len(f.Deliveries)
	j.Recipients = slices.DeleteFunc(j.Recipients, s.is)
	f.Deliveries = slices.DeleteFunc(f.Deliveries, func(d delivery) bool { return s.is(d.Recipient) })
	about := s.about(j.EntityType, j.Entity)
	switch {
	case !about && named == len(j.Recipients) && frozen == len(f.Deliveries):
		return sweep.Fate{}, nil
	case j.Status == StatusGenerating:
		return sweep.Fate{Verdict: sweep.Wait}, nil
	case about, len(j.Recipients)+len(f.Deliveries) == 0 && !s.mayGetMore(j):
		if j.Status != StatusCancelled && jobStates.Legal(j.Status, StatusCancelled) {
			j.end(at.Now, StatusCancelled)
			j.ReasonCode = reasons.Erased
		}
		return sweep.Fate{Verdict: sweep.Empty}, nil
	}
	fate := sweep.Fate{Verdict: sweep.Cut}
	if frozen == len(f.Deliveries) || at.Dry {
		return fate, nil
	}
	if j.Frozen, err = freeze(ctx, blobs, f); err != nil {
		return sweep.Fate{}, err
	}
	fate.Keep, fate.Release = []storage.Ref{j.Frozen.Blob}, []storage.Ref{before}
	return fate, nil
}

func (s dataSubject) thaw(ctx context.Context, j *jobRow) (frozen, error) {
	if j.Frozen.isZero() {
		return frozen{}, nil
	}
	return thaw(ctx, s.n.store.Blobs(), j.Frozen)
}

// mayGetMore reports whether subscribers may come to the recipients of a job.
func (s dataSubject) mayGetMore(j *jobRow) bool {
	return s.n.options.Catalogue != nil && j.Frozen.isZero() && jobStates.Legal(j.Status, StatusCancelled)
}

// showJob leaves what a job says to the person.
func (s dataSubject) showJob(j *jobRow) bool {
	found := j.Recipients
	j.Recipients = slices.DeleteFunc(j.Recipients, func(r Recipient) bool { return !s.is(r) })
	j.Frozen = frozenRef{}
	return len(j.Recipients) > 0 || len(found) == 0 && !j.TracedOn.IsZero() || s.about(j.EntityType, j.Entity)
}

// eventErasures delete what subscribers hear of the person's messages.
func (n erasure) eventErasures() []sweep.Rule {
	return outbox.Erasures(func(s sweep.Subject) (out []outbox.Prefixes) {
		for _, way := range n.dataSubject(s).messages() {
			out = append(out, func(ctx context.Context, from driver.Reader, after int64) (prefixes []string, next int64, err error) {
				wanted, err := outbox.Wanted(ctx, from, topicStatus)
				if err != nil || !wanted[topicStatus] {
					return nil, 0, err
				}
				rows, next, err := way(ctx, from, after)
				for _, m := range rows {
					prefixes = append(prefixes, topicStatus+":"+m.MessageID+":")
				}
				return prefixes, next, err
			})
		}
		return out
	})
}

// campaigns are all that still have their audience: who was left out of one has no message
// that leads to it.
func (s dataSubject) campaigns() []sweep.Way[messagingJobRow] {
	return []sweep.Way[messagingJobRow]{sweep.By(messagingJobs, s.Scope, driver.Null("forgotten_on"))}
}

// judgeCampaign blanks the person in an audience, in as many bytes: the cursor of the
// campaign goes by them.
func (s dataSubject) judgeCampaign(ctx context.Context, at sweep.At, j *messagingJobRow) (sweep.Fate, error) {
	if j.IsTombstone() || j.Blob.IsZero() {
		return sweep.Fate{}, nil
	}
	blobs := s.n.store.Blobs()
	in, err := s.inAudience(ctx, j.Blob)
	switch {
	case err != nil || !in:
		return sweep.Fate{}, err
	case j.Status == StatusGenerating:
		return sweep.Fate{Verdict: sweep.Wait}, nil
	case at.Dry:
		return sweep.Fate{Verdict: sweep.Cut}, nil
	}
	before := j.Blob
	body, err := blobs.Open(ctx, before, 0)
	if err != nil {
		return sweep.Fate{}, err
	}
	defer func() { _ = body.Close() }() // nothing was written
	j.Blob, err = blobs.Put(ctx, &blanking{lines: bufio.NewReaderSize(body, maxPayloadLine), gone: s.is})
	return sweep.Fate{Verdict: sweep.Cut, Keep: []storage.Ref{j.Blob}, Release: []storage.Ref{before}}, err
}

// inAudience reports whether a payload has the person; one that is none of ours, or gone,
// does not.
func (s dataSubject) inAudience(ctx context.Context, ref storage.Ref) (bool, error) {
	p, err := openPayload(ctx, s.n.store.Blobs(), ref, 0)
	if errors.Is(err, ErrPayload) || errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer p.close()
	for {
		r, err := p.next()
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, err
		case s.is(r):
			return true, nil
		}
	}
}

// blanking reads a payload with spaces in the place of some recipients.
type blanking struct {
	lines *bufio.Reader
	gone  func(Recipient) bool
	rest  []byte
	begun bool
}

func (b *blanking) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		line, err := b.lines.ReadSlice('\n')
		if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
			return 0, err
		}
		b.rest = b.blanked(line)
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// blanked is a line, or one as long without a person in it.
func (b *blanking) blanked(line []byte) []byte {
	var r Recipient
	header := !b.begun
	b.begun = true
	if header || json.Unmarshal(line, &r) != nil || !b.gone(r) {
		return bytes.Clone(line)
	}
	blank := bytes.Repeat([]byte{' '}, len(line))
	copy(blank, "{}")
	blank[len(blank)-1] = '\n'
	return blank
}
