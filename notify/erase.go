package notify

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/frequency"
	"github.com/belfry-go/belfry/internal/outage"
	"github.com/belfry-go/belfry/internal/spelling"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// What is left of a row whose person is erased: what a repeated wish is answered with.
// Not even a hash says what it said.
var (
	messageErasures = outgoingMessages.Erasures("notification_type", "owner", "message_id", "reason_code", "created_on", "sent_on", "ended_on")
	campaignBlob    = messagingJobs.Rewriting("blob")
	jobErasures     = jobs.Erasures("reason_code", "created_on", "ended_on")
)

// dataSubject is a person as the tables of this package know them.
type dataSubject struct {
	sweep.Subject
	n erasure
	// addresses are in the spelling that their hashes are of.
	addresses []Destination
}

func (n erasure) dataSubject(s sweep.Subject) dataSubject {
	out := dataSubject{Subject: s, n: n}
	for _, a := range s.Addresses {
		raw := strings.TrimSpace(a.Address)
		some := []string{raw} // one that cannot be delivered to is stored as it is
		if address, err := spelling.Of(a.Method, raw); err == nil {
			some = append(some, address)
		}
		for _, address := range some {
			if d := (Destination{a.Method, spelling.Folded(a.Method, address)}); !slices.Contains(out.addresses, d) {
				out.addresses = append(out.addresses, d)
			}
		}
	}
	return out
}

// hashes stand for the addresses beside a ref, under the present key and the former ones.
func (s dataSubject) hashes(ref string) (out []string) {
	for _, key := range append([][]byte{s.n.options.HashKey}, s.n.options.FormerHashKeys...) {
		for _, d := range s.addresses {
			if h := spelling.Hash(key, ref, d.Method, d.Address); !slices.Contains(out, h) {
				out = append(out, h)
			}
		}
	}
	return out
}

// is reports whether a recipient is this person: who has another Ref is not.
func (s dataSubject) is(r Recipient) bool {
	switch {
	case r.Ref != "":
		return r.Ref == s.Ref
	case r.Inbox != "" && slices.Contains(s.Inboxes, r.Inbox):
		return true
	case r.Address == "":
		return false
	}
	id := r.identity()
	return slices.Contains(s.addresses, Destination{id.method, id.address})
}

// IsPerson tells which recipients are a person, for other packages that keep recipients:
// those who name the Ref and, of those who name none, those with the inbox or the address,
// in any spelling.
func IsPerson(p sweep.Person) func(Recipient) bool {
	return erasure{}.dataSubject(sweep.Subject{Person: p}).is
}

// about reports whether something of the host's is about this person alone.
func (s dataSubject) about(entityType, entity string) bool {
	return slices.Contains(s.Entities, sweep.Entity{Type: entityType, ID: entity})
}

// erasures go through the tables of this package: what is found by messages goes before
// them.
func (n erasure) erasures() []sweep.Rule {
	return slices.Concat(n.eventErasures(), []sweep.Rule{
		sweep.Erasure[jobRow]{
			Table: jobs, Empties: jobErasures, Rewrites: jobRecipients, Audited: true,
			Ways: func(s sweep.Subject) []sweep.Way[jobRow] { return n.dataSubject(s).jobs() },
			Judge: func(ctx context.Context, s sweep.Subject, at sweep.At, j *jobRow) (sweep.Fate, error) {
				return n.dataSubject(s).judgeJob(ctx, at, j)
			},
			Show: func(_ context.Context, s sweep.Subject, j *jobRow) (bool, error) {
				return n.dataSubject(s).showJob(j), nil
			},
			Keeps: map[string]string{
				"key":        "a repeated wish finds it; it has the id of what it is about",
				"event_data": "where others have the job, too, unless the host's Entities name what it is about",
			},
		}.Rule(),
		sweep.Erasure[digestEntry]{
			Table: digestEntries, Keeps: map[string]string{"key": "of a person without a Ref and an address, until the digest is emptied"},
			Ways: func(s sweep.Subject) []sweep.Way[digestEntry] { return n.dataSubject(s).entries() },
		}.Rule(),
		sweep.Erasure[messagingJobRow]{
			Table: messagingJobs, Rewrites: campaignBlob, CutFrom: []string{"blob"},
			Ways: func(s sweep.Subject) []sweep.Way[messagingJobRow] { return n.dataSubject(s).campaigns() },
			Judge: func(ctx context.Context, s sweep.Subject, at sweep.At, j *messagingJobRow) (sweep.Fate, error) {
				return n.dataSubject(s).judgeCampaign(ctx, at, j)
			},
			Show: func(ctx context.Context, s sweep.Subject, j *messagingJobRow) (bool, error) {
				in, err := n.dataSubject(s).inAudience(ctx, j.Blob)
				j.Blob = storage.Ref{}
				return in, err
			},
		}.Rule(),
		sweep.Erasure[conflict]{
			Table: conflicts,
			Ways: func(s sweep.Subject) []sweep.Way[conflict] {
				return []sweep.Way[conflict]{sweep.By(conflicts, s.Scope)}
			},
			Judge: func(_ context.Context, s sweep.Subject, _ sweep.At, c *conflict) (sweep.Fate, error) {
				return when(n.dataSubject(s).names(c), sweep.Delete), nil
			},
			Show: func(_ context.Context, s sweep.Subject, c *conflict) (bool, error) {
				return n.dataSubject(s).names(c), nil
			},
		}.Rule(),
		sweep.Erasure[automationJobRow]{
			Table: automationJobs,
			Ways:  func(s sweep.Subject) []sweep.Way[automationJobRow] { return n.dataSubject(s).automationJobs() },
		}.Rule(),
		sweep.Erasure[preferenceRow]{
			Table: preferences, Keeps: map[string]string{"key": "who opted out without a Ref is known by a hash of the address: without it they would be written to"},
			Audited: true,
			Ways:    func(s sweep.Subject) []sweep.Way[preferenceRow] { return n.dataSubject(s).preferences() },
		}.Rule(),
		sweep.Erasure[frequency.Row]{
			Table: frequency.Table,
			Ways:  func(s sweep.Subject) []sweep.Way[frequency.Row] { return n.dataSubject(s).frequencies() },
		}.Rule(),
		sweep.Erasure[userMessageRow]{
			Table: userMessages,
			Ways:  func(s sweep.Subject) []sweep.Way[userMessageRow] { return n.dataSubject(s).inbox() },
		}.Rule(),
		sweep.Erasure[messageRow]{
			Table: outgoingMessages, Empties: messageErasures, Audited: true,
			Ways: func(s sweep.Subject) []sweep.Way[messageRow] { return n.dataSubject(s).messages() },
			Judge: func(_ context.Context, _ sweep.Subject, at sweep.At, m *messageRow) (sweep.Fate, error) {
				return m.erase(at.Now), nil
			},
			Keeps: map[string]string{"key": "a repeated wish finds it, by a hash of the address under HashKey"},
		}.Rule(),
		sweep.Erasure[suppressionRow]{
			Table: suppressions, Keeps: map[string]string{"address_hash": "without it the address would be written to again; it is a hash under HashKey"},
			Ways: func(s sweep.Subject) []sweep.Way[suppressionRow] { return n.dataSubject(s).suppressions() },
			Stay: true,
		}.Rule(),
	}, n.staying())
}

// staying are tables with columns that tell of people, none of which is a recipient's, or
// that go by themselves.
func (n erasure) staying() []sweep.Rule {
	acted := map[string]string{"paused_by": "who acted", "reason": "why"}
	return []sweep.Rule{
		sweep.Stays(pauses, acted),
		sweep.Stays(deliveryEvents, map[string]string{"address_hash": "a hash under HashKey, which goes within a month"}),
		sweep.Stays(schedules, map[string]string{
			"artifact_partition_key": "where its job is, whose key stays", "artifact_row_key": "where its job is, whose key stays",
		}),
		sweep.Stays(outage.Table, nil),
	}
}

func when(yes bool, v sweep.Verdict) sweep.Fate {
	if yes {
		return sweep.Fate{Verdict: v}
	}
	return sweep.Fate{}
}

// messages are those to a Ref, and those to an address that name none.
func (s dataSubject) messages() (out []sweep.Way[messageRow]) {
	if s.Ref != "" {
		out = append(out, sweep.By(outgoingMessages, s.Scope, driver.Eq("recipient_ref", s.Ref)))
	}
	for _, hash := range s.hashes("") {
		out = append(out, sweep.By(outgoingMessages, s.Scope, driver.Null("recipient_ref"), driver.Eq("recipient_hash", hash)))
	}
	return out
}

// erase says what becomes of a message, and cancels it if nothing was sent yet.
func (m *messageRow) erase(now time.Time) sweep.Fate {
	switch {
	case m.IsErased():
		return sweep.Fate{}
	case !m.LeaseExpiresOn.IsZero() && !m.CallStartedOn.IsZero():
		return sweep.Fate{Verdict: sweep.Wait} // its provider is being called, or asked
	case m.Status != StatusCancelled && outgoingStates.Legal(m.Status, StatusCancelled):
		m.cancelled(now, reasons.Erased)
	}
	return sweep.Fate{Verdict: sweep.Empty}
}

// inbox are messages in the person's inboxes, and those that name the Ref.
func (s dataSubject) inbox() (out []sweep.Way[userMessageRow]) {
	if s.Ref != "" {
		out = append(out, sweep.By(userMessages, s.Scope, driver.Eq("recipient_ref", s.Ref)))
	}
	for _, inbox := range s.Inboxes {
		if within, err := under(inbox); err == nil { // no row has another key
			out = append(out, sweep.By(userMessages, s.Scope, within...))
		}
	}
	return out
}

func (s dataSubject) preferences() []sweep.Way[preferenceRow] {
	within, err := under(recipientOf(s.Ref))
	if s.Ref == "" || err != nil {
		return nil
	}
	return []sweep.Way[preferenceRow]{sweep.By(preferences, s.Scope, within...)}
}

func (s dataSubject) frequencies() []sweep.Way[frequency.Row] {
	var places []driver.ScopedKey
	if s.Ref != "" {
		places = append(places, driver.ScopedKey{Scope: s.Scope, Key: recipientOf(s.Ref)})
	}
	for _, hash := range s.hashes("") {
		places = append(places, driver.ScopedKey{Scope: s.Scope, Key: "hash:" + hash})
	}
	return []sweep.Way[frequency.Row]{sweep.There(frequency.Table, places...)}
}

func (s dataSubject) suppressions() []sweep.Way[suppressionRow] {
	return []sweep.Way[suppressionRow]{sweep.There(suppressions, s.marks(append([]channel.SuppressionReason{channel.Erased}, strongest...)...)...)}
}

func (s dataSubject) automationJobs() (out []sweep.Way[automationJobRow]) {
	for _, e := range s.Entities {
		if within, err := under(e.ID); err == nil {
			out = append(out, sweep.By(automationJobs, s.Scope, append(within, driver.Eq("source_type", e.Type))...))
		}
	}
	return out
}

// names reports whether a conflict tells of the person: by an inbox, a hash in the key of
// a message, a Ref, or an entity.
func (s dataSubject) names(c *conflict) bool {
	if slices.Contains(s.Inboxes, c.PartitionKey) {
		return true
	}
	for _, hash := range append(s.hashes(""), s.hashes(s.Ref)...) {
		if strings.HasPrefix(c.RowKey, hash+"_") {
			return true
		}
	}
	for _, e := range s.Entities {
		if c.PartitionKey == e.ID || c.Stored == e.ID || c.Wanted == e.ID {
			return true
		}
	}
	return s.Ref != "" && (c.Stored == s.Ref || c.Wanted == s.Ref)
}

// marksFor is how late a process may hear of the first erasure of all: what it sends
// meanwhile was under way, and is erased by the second look.
const marksFor = time.Minute
