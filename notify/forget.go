package notify

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/storage/driver"
)

// What is left of a wish that is forgotten: what a repeated one is compared by, and
// answered with.
var (
	jobStubs       = jobs.Tombstones("input_hash", "reason_code", "created_on", "ended_on")
	messagingStubs = messagingJobs.Tombstones("guid", "business_unit", "input_hash", "content_hash", "reason_code", "created_on", "ended_on")
	messageStubs   = outgoingMessages.Tombstones("notification_type", "owner", "input_hash", "content_hash", "message_id", "reason_code", "created_on", "sent_on", "ended_on")
	userStubs      = userMessages.Tombstones("input_hash", "content_hash", "created_on", "archived_on")
)

// coordinates are those of a row, and of its stub, which has its key alone.
func coordinates(key, partition, row string) Coordinates {
	if partition != "" || row != "" {
		return Coordinates{partition, row}
	}
	partition, row, _ = strings.Cut(key, "\x1f")
	return Coordinates{partition, row}
}

// isStub reports whether little is left of a row of any table.
func isStub(row any) bool {
	s, ok := row.(interface{ IsTombstone() bool })
	return ok && s.IsTombstone()
}

// forgetting says how the tables of this package forget. A job goes first, once nothing
// of it is to go out: a later call that adds to a complete one looks for all its messages.
// Then what it led to goes for good, since its stub leads to nothing.
func (n retention) forgetting() []sweep.Rule {
	return append([]sweep.Rule{
		sweep.Retention[messageRow]{
			Table: outgoingMessages, By: "Messages", Tombstones: messageStubs,
			Created: func(m *messageRow) time.Time { return m.CreatedOn },
			Old: func(before time.Time) []driver.Cond {
				return append(atRest("created_on", before), driver.In("status", sentOrEnded), driver.Eq("is_on_support_hold", false))
			},
			Judge: n.judgeMessages,
		}.Rule(),
		sweep.Retention[userMessageRow]{
			Table: userMessages, By: "Inbox", Tombstones: userStubs,
			Created: func(m *userMessageRow) time.Time { return m.CreatedOn },
			Old: func(before time.Time) []driver.Cond {
				return []driver.Cond{driver.AtMost("created_on", before), driver.Any(driver.Null("snoozed_until"), driver.AtMost("snoozed_until", before))}
			},
			Judge: n.judgeUserMessages,
			Trim:  func(m *userMessageRow) { m.ArchivedOn = later(m.ArchivedOn, m.CreatedOn) }, // not new any more
		}.Rule(),
		sweep.Retention[jobRow]{
			Table: jobs, By: "Messages", Tombstones: jobStubs,
			Created: func(j *jobRow) time.Time { return j.CreatedOn },
			Old:     endedBy,
			Judge: func(ctx context.Context, from driver.Reader, at sweep.At, rows []*jobRow) ([]sweep.Verdict, error) {
				out, err := judgeJobs(ctx, from, at, rows, func(j *jobRow) (Scope, string, sweep.Verdict) {
					return j.Scope, j.Coordinates().RowKey, n.wish(j.Kind, j.IsTombstone(), at.Now, j.EndedOn)
				})
				if err != nil {
					return nil, err
				}
				return out, keepDigested(ctx, from, rows, out)
			},
		}.Rule(),
		sweep.Retention[messagingJobRow]{
			Table: messagingJobs, By: "Messages", Tombstones: messagingStubs,
			Created: func(j *messagingJobRow) time.Time { return j.CreatedOn },
			Old:     endedBy,
			Judge: func(ctx context.Context, from driver.Reader, at sweep.At, rows []*messagingJobRow) ([]sweep.Verdict, error) {
				return judgeJobs(ctx, from, at, rows, func(j *messagingJobRow) (Scope, string, sweep.Verdict) {
					return j.Scope, j.Key, n.wish(j.Kind, j.IsTombstone(), at.Now, j.EndedOn)
				})
			},
		}.Rule(),
		entryRule(),
		sweep.Retention[scheduleRow]{
			Table: schedules, By: "Messages",
			Created: func(s *scheduleRow) time.Time { return s.CreatedOn },
			Old:     endedBy,
			Judge:   judgeSchedules,
		}.Rule(),
		sweep.Retention[conflict]{
			Table: conflicts, By: "Messages",
			Created: func(c *conflict) time.Time { return c.CreatedOn },
			Old:     func(before time.Time) []driver.Cond { return []driver.Cond{driver.AtMost("created_on", before)} },
		}.Rule(),
		sweep.Retention[factRow]{
			Table: deliveryFacts, By: "Messages",
			Created: func(f *factRow) time.Time { return f.On },
			Old:     func(before time.Time) []driver.Cond { return []driver.Cond{driver.AtMost("happened_on", before)} },
			Judge:   judgeFacts,
		}.Rule(),
		sweep.Retention[automationJobRow]{
			Table: automationJobs, By: "Reminders",
			Created: func(j *automationJobRow) time.Time { return j.CreatedOn },
			Old:     func(before time.Time) []driver.Cond { return []driver.Cond{driver.AtMost("created_on", before)} },
		}.Rule(),
	}, outbox.Rules()...)
}

// atRest describes rows that are not on hold and not due, that a column dates
// back to before a moment.
func atRest(column string, before time.Time) []driver.Cond {
	return []driver.Cond{driver.AtMost(column, before), driver.Null("due_on"), driver.Null("lease_expires_on")}
}

// endedBy describes rows that ended before a moment, and wait for no person.
func endedBy(before time.Time) []driver.Cond {
	return append(atRest("ended_on", before), driver.Eq("is_on_support_hold", false))
}

// sentOrEnded are the states of a message that no call is to come of, and no doubt.
var sentOrEnded = []string{
	StatusSentToProvider, StatusDelivered, StatusOpened, StatusFailedFinal, StatusSkipped, StatusExpired, StatusCancelled,
}

// wish is what becomes of an old wish of a type: a stub stays for as long as it may be
// asked for again.
func (n retention) wish(kind string, stub bool, now, ended time.Time) sweep.Verdict {
	horizon := n.registry.lookup(kind).ForgetAfter
	switch {
	case horizon > 0 && !ended.After(now.Add(-horizon)):
		return sweep.Delete
	case stub:
		return sweep.Keep
	}
	return sweep.Empty
}

// restsSince is when a message that rests was sent, or ended.
func (m *messageRow) restsSince() time.Time {
	return later(later(m.EndedOn, m.SentOn), later(m.FailedOn, m.CreatedOn))
}

// judgeMessages deletes what a job led to, and shrinks messages that hosts asked for
// themselves.
func (n retention) judgeMessages(ctx context.Context, from driver.Reader, at sweep.At, rows []*messageRow) ([]sweep.Verdict, error) {
	made, err := madeBy(ctx, from, rows, func(m *messageRow) (driver.ScopedKey, bool) { return m.job(), m.ByJob })
	if err != nil {
		return nil, err
	}
	kept, err := n.keptByOwners(ctx, from, rows)
	out := make([]sweep.Verdict, len(rows))
	for i, m := range rows {
		switch {
		case m.restsSince().After(at.Before):
			out[i] = sweep.Wait
		case kept[m]:
		case m.Owner != "":
			out[i] = sweep.Delete
		case made[i] == byWhole:
		case made[i] == byStub:
			out[i] = sweep.Delete
		default:
			out[i] = n.wish(m.NotificationType, m.IsTombstone(), at.Now, m.restsSince())
		}
	}
	return out, err
}

func (n retention) judgeUserMessages(ctx context.Context, from driver.Reader, at sweep.At, rows []*userMessageRow) ([]sweep.Verdict, error) {
	made, err := madeBy(ctx, from, rows, func(m *userMessageRow) (driver.ScopedKey, bool) {
		return driver.ScopedKey{Scope: m.Scope, Key: m.JobPartitionKey + "\x1f" + m.JobRowKey}, m.ByJob
	})
	out := make([]sweep.Verdict, len(rows))
	for i, m := range rows {
		switch made[i] {
		case byWhole:
		case byStub:
			out[i] = sweep.Delete
		default:
			out[i] = n.wish(m.Kind, m.IsTombstone(), at.Now, m.CreatedOn)
		}
	}
	return out, err
}

// maker is what has made a message.
type maker int

const (
	byHost  maker = iota // it was asked for by itself, or its job is gone
	byWhole              // a job that may make it again
	byStub               // one that makes nothing any more
)

// madeBy tells what has made messages: those of no generator were asked for by themselves.
func madeBy[R any](ctx context.Context, from driver.Reader, rows []*R, of func(*R) (job driver.ScopedKey, byJob bool)) ([]maker, error) {
	places := make([]driver.ScopedKey, 0, len(rows))
	for _, m := range rows {
		if job, byJob := of(m); byJob {
			places = append(places, job)
		}
	}
	known, err := jobs.GetMany(ctx, from, places, "forgotten_on")
	if err != nil {
		return nil, err
	}
	campaigns, err := messagingJobs.GetMany(ctx, from, places, "forgotten_on")
	out := make([]maker, len(rows))
	for i, m := range rows {
		job, byJob := of(m)
		j, c := known[job], campaigns[job]
		switch {
		case !byJob || j == nil && c == nil:
		case j != nil && !j.IsTombstone() || c != nil && !c.IsTombstone():
			out[i] = byWhole
		default:
			out[i] = byStub
		}
	}
	return out, err
}

// judgeJobs keeps jobs some of whose messages are still to go out, wait for a person, or
// are not old: those are asked about with their job.
func judgeJobs[R any](ctx context.Context, from driver.Reader, at sweep.At, rows []*R, of func(*R) (scope Scope, rowKey string, v sweep.Verdict)) ([]sweep.Verdict, error) {
	out := make([]sweep.Verdict, len(rows))
	var places []driver.ScopedKey
	var asked []int
	for i, r := range rows {
		scope, rowKey, verdict := of(r)
		if out[i] = verdict; verdict != sweep.Keep {
			places, asked = append(places, driver.ScopedKey{Scope: scope, Key: rowKey}), append(asked, i)
		}
	}
	needed, err := outgoingMessages.HasChildren(ctx, from, places, driver.Any(
		driver.NotNull("due_on"), driver.NotNull("lease_expires_on"), driver.Eq("is_on_support_hold", true), driver.In("status", unsettled),
		driver.Greater("created_on", at.Before), driver.Greater("sent_on", at.Before), driver.Greater("failed_on", at.Before), driver.Greater("ended_on", at.Before),
	))
	if err != nil {
		return nil, err
	}
	for n, i := range asked {
		if needed[n] {
			out[i] = sweep.Keep
		}
	}
	return out, nil
}

// unsettled are the states of a message that something is still to come of.
var unsettled = []string{StatusCreated, StatusRetryReady, StatusSending, StatusOutcomeUnknown}

// judgeSchedules keeps those whose job has not ended: made again, they would wake it.
func judgeSchedules(ctx context.Context, from driver.Reader, _ sweep.At, rows []*scheduleRow) ([]sweep.Verdict, error) {
	var ofJobs, ofCampaigns []driver.ScopedKey
	for _, s := range rows {
		at := driver.ScopedKey{Scope: s.Scope, Key: artifactKey(s)}
		if s.ArtifactType == ArtifactMessagingJob {
			ofCampaigns = append(ofCampaigns, at)
		} else {
			ofJobs = append(ofJobs, at)
		}
	}
	known, err := jobs.GetMany(ctx, from, ofJobs, "status", "ended_on")
	if err != nil {
		return nil, err
	}
	campaigns, err := messagingJobs.GetMany(ctx, from, ofCampaigns, "status", "ended_on")
	out := make([]sweep.Verdict, len(rows))
	for i, s := range rows {
		w, _ := artifacts{known, campaigns}.find(s)
		if (w.job == nil || !w.job.EndedOn.IsZero()) && (w.messaging == nil || !w.messaging.EndedOn.IsZero()) {
			out[i] = sweep.Delete
		}
	}
	return out, err
}

// judgeFacts keeps those of messages that are there.
func judgeFacts(ctx context.Context, from driver.Reader, _ sweep.At, rows []*factRow) ([]sweep.Verdict, error) {
	of := map[string]bool{}
	for _, f := range rows {
		id, _, _ := strings.Cut(f.Key, "\x1f")
		of[id] = true
	}
	known, err := messagesByID(ctx, from, slices.Collect(maps.Keys(of)))
	out := make([]sweep.Verdict, len(rows))
	for i, f := range rows {
		id, _, _ := strings.Cut(f.Key, "\x1f")
		if m := known[id]; m == nil || m.IsTombstone() {
			out[i] = sweep.Delete
		}
	}
	return out, err
}
