package survey

import (
	"context"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// instanceStubs are what is left of an instance: what its event is known by when it is
// told again, and how it ended.
var instanceStubs = instances.Tombstones("public_id", "survey_id", "survey_version", "trigger_id", "unique_hash", "created_on", "completed_on", "ended_on", "deleted_on")

// forgetting says how the tables of this package forget. Who answered is not asked again
// without the response: the instance says so, or its stub.
func (s *core) forgetting() []sweep.Rule {
	return append([]sweep.Rule{
		sweep.Retention[instanceRow]{
			Table: instances, By: "Surveys", Tombstones: instanceStubs,
			Created: func(i *instanceRow) time.Time { return i.CreatedOn },
			Old: func(before time.Time) []driver.Cond {
				return []driver.Cond{
					driver.Any(driver.AtMost("ended_on", before), driver.AtMost("deleted_on", before)),
					driver.Null("due_on"), driver.Null("lease_expires_on"), driver.Eq("is_on_support_hold", false), driver.Eq("queued", false),
				}
			},
			Judge: func(_ context.Context, _ driver.Reader, at sweep.At, rows []*instanceRow) ([]sweep.Verdict, error) {
				out := make([]sweep.Verdict, len(rows))
				for i, r := range rows {
					out[i] = s.judge(r, at.Now)
				}
				return out, nil
			},
		}.Rule(),
		sweep.Retention[deliveryRow]{
			Table: deliveries, By: "Surveys",
			Created: func(d *deliveryRow) time.Time { return d.On },
			Old:     func(before time.Time) []driver.Cond { return []driver.Cond{driver.AtMost("at", before)} },
			Judge:   judgeDeliveries,
		}.Rule(),
		sweep.Retention[responseRow]{
			Table: responses, By: "Responses", Old: submittedBy,
			Created: func(r *responseRow) time.Time { return r.SubmittedOn },
		}.Rule(),
		sweep.Retention[answerRow]{
			Table: answers, By: "Responses", Old: submittedBy,
			Created: func(a *answerRow) time.Time { return a.SubmittedOn },
		}.Rule(),
	}, outbox.Rules()...)
}

func submittedBy(before time.Time) []driver.Cond {
	return []driver.Cond{driver.AtMost("submitted_on", before)}
}

// judge says what becomes of an instance that ended long ago. A stub stays for as long
// as its event may be told again.
func (s *core) judge(i *instanceRow, now time.Time) sweep.Verdict {
	ended := later(i.EndedOn, i.DeletedOn)
	switch horizon := s.options.ForgetAfter; {
	case horizon > 0 && !ended.After(now.Add(-horizon)):
		return sweep.Delete
	case strings.HasPrefix(i.Key, forgotten), i.Channel == form.OpenChannel: // it has no event, or one that makes a new one anyway
		return sweep.Delete
	case i.IsTombstone():
		return sweep.Keep
	}
	return sweep.Empty
}

// judgeDeliveries keeps the log of instances that are whole.
func judgeDeliveries(ctx context.Context, from driver.Reader, _ sweep.At, rows []*deliveryRow) ([]sweep.Verdict, error) {
	ids := make([]string, len(rows))
	for i, d := range rows {
		ids[i] = d.PublicID
	}
	links, err := linksByPublicID(ctx, from, ids, "public_id", "forgotten_on")
	if err != nil {
		return nil, err
	}
	out := make([]sweep.Verdict, len(rows))
	for i, d := range rows {
		if link := links[driver.ScopedKey{Scope: d.Scope, Key: d.PublicID}]; link == nil || link.IsTombstone() {
			out[i] = sweep.Delete
		}
	}
	return out, nil
}
