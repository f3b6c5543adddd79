package notify

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// maxTallied is how many messages of a campaign are counted by status.
const maxTallied = 10_000

// CampaignProgress tells how far a campaign has come. It holds no address and no
// text.
type CampaignProgress struct {
	Scope                    Scope
	GUID, Type, BusinessUnit string
	Status, Reason           string
	SupportHold              SupportHold
	// Recipients is the size of the audience, zero if nobody has said it. Of them
	// so many are Done: a message was made for Generated, nothing goes out to
	// Skipped, and Repeated are in the audience twice.
	Recipients, Done, Generated, Skipped, Repeated int
	// Cancelled counts messages that a cancellation has kept from being sent.
	Cancelled int
	// PerSecond is at how many recipients the last chunks went, Left how long the
	// rest takes at that rate; both are zero while nobody can tell. It is about
	// making the messages: sending them may take longer.
	PerSecond float64
	Left      time.Duration
	// Messages counts the messages by their status: all of them if Sampled is
	// false. Otherwise they are too many to be counted each time, and these are the
	// first 10,000 in the order of their keys: keys begin with a hash, so they are
	// a fair sample of what exists.
	Messages map[string]int
	Sampled  bool
	// StartedOn is when the campaign's schedule fell due, EndedOn when nothing was
	// left to make.
	StartedOn, EndedOn time.Time
}

// Campaign tells how far a campaign has come, in two statements whatever its
// size. The error wraps storage.ErrNotFound where scope has no such messaging job.
func (n *Notifier) Campaign(ctx context.Context, scope Scope, guid string) (p CampaignProgress, err error) {
	within, err := under(guid)
	if err != nil {
		return p, err
	}
	err = n.inTx(ctx, nil, func(tx storage.Tx) error {
		j, err := campaign(ctx, tx, scope, guid)
		if err != nil {
			return err
		}
		p = j.progress()
		return p.tally(ctx, tx, within)
	})
	return p, err
}

func campaign(ctx context.Context, tx storage.Tx, scope Scope, guid string) (*MessagingJob, error) {
	if scope == storage.AnyScope {
		return nil, errAnyScope
	}
	j, err := messagingJobs.Get(ctx, tx, scope, guid)
	if err != nil {
		return nil, fmt.Errorf("notify: campaign %s: %w", guid, err)
	}
	return j, nil
}

func (j *MessagingJob) progress() CampaignProgress {
	p := CampaignProgress{
		Scope: j.Scope, GUID: j.GUID, Type: j.Type, BusinessUnit: j.BusinessUnit,
		Status: j.Status, Reason: j.ReasonCode, SupportHold: j.SupportHold,
		Recipients: j.AudienceSize, Done: j.Done, Generated: j.Generated, Skipped: j.Skipped, Repeated: j.Repeated,
		Cancelled: j.Cancelled, StartedOn: j.StartedOn, EndedOn: j.EndedOn,
	}
	if j.Status == StatusReady || j.Status == StatusGenerating {
		p.PerSecond = float64(j.Hourly) / 3600
		p.Left = j.left(j.AudienceSize)
	}
	return p
}

// tally counts the messages by status, up to the cap.
func (p *CampaignProgress) tally(ctx context.Context, tx storage.Tx, within []storage.Cond) error {
	groups, err := outgoingMessages.Tally(ctx, tx, p.Scope, storage.Tally{
		By: []string{"status"}, Where: within, OrderBy: "key", Limit: maxTallied,
	})
	p.Messages = map[string]int{}
	counted := 0
	for _, g := range groups {
		p.Messages[g.Row.Status] += g.N
		counted += g.N
	}
	p.Sampled = counted == maxTallied
	return err
}
