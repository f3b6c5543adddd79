package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Trace is what exists of one notification job, or of one campaign. Job and Campaign
// are nil where there is none.
type Trace struct {
	Job              *Job
	Campaign         *MessagingJob
	Schedules        []Schedule        // more than one only if several event types name the job
	UserMessages     []UserMessage     // of a job
	OutgoingMessages []OutgoingMessage // the first 1000
	// Digests are those that the job waits for, or was told in.
	Digests []InDigest
	// Entries are the jobs that a digest is of, the first 1000.
	Entries []Coordinates
}

// Trace tells what became of the job or the campaign at those coordinates. What does
// not exist is not an error.
func (n *Notifier) Trace(ctx context.Context, scope Scope, at Coordinates) (t Trace, err error) {
	key, err := keys.Join(at.PartitionKey, at.RowKey)
	if err != nil {
		return t, err
	}
	job := driver.ScopedKey{Scope: scope, Key: key}
	var j *jobRow
	err = n.read(ctx, nil, func(from driver.Reader) error {
		found, err := jobs.GetMany(ctx, from, []driver.ScopedKey{job})
		j = found[job]
		return err
	})
	switch {
	case err != nil:
		return t, err
	case j == nil:
		return n.traceCampaign(ctx, scope, at)
	}
	told, err := j.told(ctx, n.store.Blobs())
	if err != nil {
		return t, err
	}
	view := j.view()
	t.Job = &view
	err = n.read(ctx, nil, func(from driver.Reader) error {
		if err := t.follow(ctx, from, ArtifactNotificationJob, scope, at); err != nil {
			return err
		}
		if t.UserMessages, err = j.userMessages(ctx, from, told); err != nil {
			return err
		}
		t.Entries, err = j.entries(ctx, from)
		return err
	})
	if err == nil {
		t.Digests, err = n.Digests(ctx, nil, scope, at)
	}
	return t, err
}

// traceCampaign also takes the GUID alone, in both places.
func (n *Notifier) traceCampaign(ctx context.Context, scope Scope, at Coordinates) (t Trace, err error) {
	err = n.read(ctx, nil, func(from driver.Reader) error {
		t = Trace{} // it may be read again
		j, err := messagingJobs.Get(ctx, from, scope, at.RowKey)
		if errors.Is(err, storage.ErrNotFound) || err == nil && at != j.Coordinates() && at.PartitionKey != at.RowKey {
			return nil
		}
		if err != nil {
			return err
		}
		view := j.view()
		t.Campaign = &view
		return t.follow(ctx, from, ArtifactMessagingJob, scope, j.Coordinates())
	})
	return t, err
}

// told are those whom the job names, and the subscribers who were told beside them.
func (j *jobRow) told(ctx context.Context, blobs storage.Blobs) ([]Recipient, error) {
	if j.Frozen.isZero() {
		return j.Recipients, nil
	}
	f, err := thaw(ctx, blobs, j.Frozen)
	if errors.Is(err, storage.ErrNotFound) { // collected with what it was for
		return j.Recipients, nil
	}
	told := make([]Recipient, len(f.Deliveries))
	for i, d := range f.Deliveries {
		told[i] = d.Recipient
	}
	return told, err
}

// follow reads the schedules and messages that the job led to.
func (t *Trace) follow(ctx context.Context, from driver.Reader, a Artifact, scope Scope, at Coordinates) error {
	guard, err := under(string(a), at.PartitionKey, at.RowKey)
	if err != nil {
		return err
	}
	within, err := under(at.RowKey)
	if err != nil {
		return err
	}
	first := storage.Page{Limit: maxPage}
	if t.Schedules, _, err = listFrom(ctx, from, schedules, scope, first, driver.Query{Where: guard}, (*scheduleRow).view); err != nil {
		return err
	}
	t.OutgoingMessages, _, err = listFrom(ctx, from, outgoingMessages, scope, first, driver.Query{Where: within}, (*messageRow).view)
	return err
}

// userMessages finds the job's messages by the inboxes of those who were told.
func (j *jobRow) userMessages(ctx context.Context, from driver.Reader, told []Recipient) ([]UserMessage, error) {
	row, err := keys.UserMessageRow(j.SourceOn, j.RowKey)
	if err != nil {
		return nil, err
	}
	var places []driver.ScopedKey
	for _, r := range told {
		if key, err := keys.Join(r.Inbox, row); err == nil {
			places = append(places, driver.ScopedKey{Scope: j.Scope, Key: key})
		}
	}
	found, err := userMessages.GetMany(ctx, from, places)
	out := make([]UserMessage, 0, len(found))
	for _, at := range places {
		if m := found[at]; m != nil {
			out = append(out, m.view())
			delete(found, at)
		}
	}
	return out, err
}

// String tells people what became of the job or the campaign. It names recipients by their
// Ref, and has no address and no content.
func (t Trace) String() string {
	var b strings.Builder
	switch {
	case t.Job != nil:
		fmt.Fprintf(&b, "%s of %s %s: %s", t.Job.Type, t.Job.EntityType, t.Job.Entity, told(t.Job.Status, t.Job.ReasonCode))
		if t.Job.Diagnostics != "" {
			fmt.Fprintf(&b, "\n  last error: %s", t.Job.Diagnostics)
		}
	case t.Campaign != nil:
		fmt.Fprintf(&b, "campaign %s of %s: %s", t.Campaign.GUID, t.Campaign.Type, told(t.Campaign.Status, t.Campaign.ReasonCode))
	default:
		b.WriteString("there is no such job")
	}
	for _, s := range t.Schedules {
		fmt.Fprintf(&b, "\n  schedule for %s: %s", stamp(s.ScheduledOn), told(s.Status, s.ReasonCode))
	}
	for _, m := range t.UserMessages {
		fmt.Fprintf(&b, "\n  inbox of %s: %s", m.RecipientRef, m.Status)
	}
	for _, m := range t.OutgoingMessages {
		fmt.Fprintf(&b, "\n  %s to %s: %s%s", m.Channel, m.RecipientRef, told(m.Status, m.ReasonCode), t.beside(m))
	}
	for _, d := range t.Digests {
		fmt.Fprintf(&b, "\n  for %s: %s", d.RecipientRef, d)
	}
	return b.String()
}

// beside tells of a message that goes out only if another one is unread.
func (t Trace) beside(m OutgoingMessage) string {
	if m.UnlessRead == "" {
		return ""
	}
	var user UserMessage
	for _, u := range t.UserMessages {
		if u.Key == m.UnlessRead {
			user = u
		}
	}
	switch {
	case !m.SentOn.IsZero():
		return fmt.Sprintf(", unread in the inbox for %s; sent on %s", m.SentOn.Sub(later(user.CreatedOn, user.SnoozedUntil)).Round(time.Second), stamp(m.SentOn))
	case m.Status != StatusSkipped && !m.DueOn.IsZero():
		return fmt.Sprintf(", on %s unless it is read in the inbox before", stamp(m.DueOn))
	case m.ReasonCode != reasons.Read:
		return ""
	case !user.ReadOn.IsZero():
		return fmt.Sprintf(", read in the inbox on %s; not sent", stamp(user.ReadOn))
	case !user.ArchivedOn.IsZero():
		return fmt.Sprintf(", archived in the inbox on %s; not sent", stamp(user.ArchivedOn))
	}
	return ", gone from the inbox; not sent"
}

func told(status, reason string) string {
	if reason == "" {
		return status
	}
	return status + " (" + reason + ")"
}

func stamp(on time.Time) string { return on.UTC().Format(time.RFC3339) }

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
	var digests map[driver.ScopedKey]*jobRow
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
	in := InDigest{RecipientRef: e.RecipientRef, Digest: Coordinates{digestPartition(e.Kind), e.Digest}, Reason: reasons.ArtifactMissing}
	if digest == nil || digest.IsTombstone() {
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
