package belfry

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/sweep"
)

// Retention says how long rows are kept after their end, at least a day. Rows that are
// open, on hold or of unknown outcome are always kept. docs/lifecycle.md lists the
// tables.
//
// Zero means the field's default if the database was new when a Poller first ran on it;
// otherwise zero keeps the rows. [Forever] keeps them, too. The first deletion in a table
// is announced in the log and in Health for a week, and again when its retention gets
// shorter.
//
// Nothing is sent again because its row was deleted: each request leaves a tombstone,
// small and without personal data, until the host says that it will not be repeated
// ([automation.Retention].ForgetAfter, [notify.Type].ForgetAfter,
// [survey.Options].ForgetAfter).
type Retention struct {
	// Reminders are the rows of automation whose type has no Retention of its own, and
	// the history of their sources; 400 days.
	Reminders time.Duration
	// Messages are messages, the jobs that made them, and campaigns; 400 days.
	Messages time.Duration
	// Inbox are the messages in inboxes, read or not; 400 days.
	Inbox time.Duration
	// Events are the events that subscribers have accepted; 90 days. Dead letters are kept.
	Events time.Duration
	// Surveys are the instances of surveys and the log of their sends; 400 days.
	Surveys time.Duration
	// Responses are the customers' answers. They are kept by default. Results keep their
	// counts when responses are deleted. The link of a deleted response has ended and is
	// not sent again.
	Responses time.Duration
	// Audit is who did what and why. It is kept by default.
	Audit time.Duration
}

// Forever keeps the rows of a field of [Retention].
const Forever = sweep.Forever

const day = 24 * time.Hour

// defaults apply to new databases.
var defaults = Retention{Reminders: 400 * day, Messages: 400 * day, Inbox: 400 * day, Events: 90 * day, Surveys: 400 * day}

func (r Retention) keeps() sweep.Keeps {
	return sweep.Keeps{
		"Reminders": r.Reminders, "Messages": r.Messages, "Inbox": r.Inbox, "Events": r.Events, "Surveys": r.Surveys, "Responses": r.Responses, "Audit": r.Audit,
	}
}

// check panics on invalid settings.
func (r Retention) check() {
	for field, keep := range r.keeps() {
		if keep != Forever && keep != 0 && keep < day {
			panic(fmt.Sprintf("belfry: Retention.%s is less than a day", field))
		}
	}
}

// sweeping is the sweep over the tables of all services.
func (p *Poller) sweeping(rules []sweep.Rules) *sweep.Sweep {
	p.options.Retention.check()
	return sweep.New(p.store, sweep.Options{
		Chosen: p.options.Retention.keeps(), Defaults: defaults.keeps(),
		Hooks:  sweep.Hooks{Entities: p.options.Privacy.Entities, Erased: p.options.Privacy.Erased},
		Logger: p.options.Logger,
	}, rules)
}

// PreviewRetention says what each table would lose now, in Tombstones and Deleted. It
// reads all old rows and writes none.
func (p *Poller) PreviewRetention(ctx context.Context) ([]health.Retention, error) {
	out, err := p.sweep.PreviewRetention(ctx)
	if err != nil {
		return nil, fmt.Errorf("belfry: PreviewRetention: %w", err)
	}
	return out, nil
}
