package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// maxTallied is how many messages of a campaign are counted by status.
const maxTallied = 10_000

// CampaignProgress tells how far a campaign has come. It holds no address and no
// text.
type CampaignProgress struct {
	Scope                    Scope
	GUID, Type, BusinessUnit string
	Status, Reason           string
	SupportHold              driver.SupportHold
	// Recipients is the size of the audience, zero if it is not known. Of them
	// so many are Done: a message was made for Generated, nothing goes out to
	// Skipped, and Repeated are in the audience twice.
	Recipients, Done, Generated, Skipped, Repeated int
	// Cancelled counts messages that a cancellation has kept from being sent.
	Cancelled int
	// PerSecond is at how many recipients the last chunks went, Left how long the
	// rest takes at that rate; both are zero while that is unknown. It is about
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

// Start makes sure of a campaign and of its schedule, in one transaction, as
// [Notifier.NotifyAt] does of a job: on is when it begins; zero means at once.
func (n Campaigns) Start(ctx context.Context, j MessagingJob, on time.Time) (Ensured, error) {
	return n.begun(ctx, ScheduleForCampaign(j, on), func(tx storage.Tx) ([]Ensured, error) {
		return ensure(ctx, n.core, tx, messagingKind, []MessagingJob{j}, (*MessagingJob).row)
	})
}

// Progress tells how far a campaign has come, in two statements for any
// size. The error wraps storage.ErrNotFound where scope has no such messaging job.
func (n Campaigns) Progress(ctx context.Context, scope Scope, guid string) (p CampaignProgress, err error) {
	within, err := under(guid)
	if err != nil {
		return p, err
	}
	err = n.read(ctx, nil, func(from driver.Reader) error {
		j, err := campaign(ctx, from, scope, guid)
		if err != nil {
			return err
		}
		p = j.progress()
		return p.tally(ctx, from, within)
	})
	return p, err
}

func campaign(ctx context.Context, from driver.Reader, scope Scope, guid string) (*messagingJobRow, error) {
	j, err := messagingJobs.Get(ctx, from, scope, guid)
	if err != nil {
		return nil, fmt.Errorf("notify: campaign %s: %w", guid, err)
	}
	return j, nil
}

func (j *messagingJobRow) progress() CampaignProgress {
	p := CampaignProgress{
		Scope: j.Scope, GUID: j.GUID, Type: j.Kind, BusinessUnit: j.BusinessUnit,
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
func (p *CampaignProgress) tally(ctx context.Context, from driver.Reader, within []driver.Cond) error {
	groups, err := outgoingMessages.CountBy(ctx, from, p.Scope, driver.CountBy{
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

// AllowCampaign is the host's word on whether the caller may see who a campaign is
// for and what it says (Communication - Codebase flow, "Campaign"). An error
// refuses, and is that of the call.
type AllowCampaign func(ctx context.Context, c CampaignProgress) error

// CampaignContent is the payload of a campaign.
type CampaignContent struct {
	Campaign  CampaignProgress // without its messages
	EventData json.RawMessage  // what all recipients have in common

	n    *core
	blob storage.Ref
}

// Content opens the payload of a campaign after allow has agreed; before
// that, nothing of it is read. It panics without allow.
func (n Campaigns) Content(ctx context.Context, scope Scope, guid string, allow AllowCampaign) (*CampaignContent, error) {
	if allow == nil {
		panic("notify: Campaigns.Content needs an AllowCampaign")
	}
	var j *messagingJobRow
	err := n.read(ctx, nil, func(from driver.Reader) (err error) {
		j, err = campaign(ctx, from, scope, guid)
		return err
	})
	if err != nil {
		return nil, err
	}
	c := &CampaignContent{Campaign: j.progress(), n: n.core, blob: j.Blob}
	if err := allow(ctx, c.Campaign); err != nil {
		return nil, err
	}
	p, err := openPayload(ctx, n.store.Blobs(), c.blob, 0)
	if err != nil {
		return nil, err
	}
	c.EventData = p.header.EventData
	p.close()
	return c, nil
}

// Recipients yields the audience as it is stored, in its order; a recipient
// who is in it twice comes twice. An error ends it.
func (c *CampaignContent) Recipients(ctx context.Context) iter.Seq2[Recipient, error] {
	return func(yield func(Recipient, error) bool) {
		p, err := openPayload(ctx, c.n.store.Blobs(), c.blob, 0)
		if err != nil {
			yield(Recipient{}, err)
			return
		}
		defer p.close()
		for {
			r, err := p.next()
			if errors.Is(err, io.EOF) || !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// Pause keeps a campaign from making more messages until it is resumed,
// also one whose schedule is not due yet. It works between two chunks; messages
// that exist already are sent. guid is the messaging job's. Like the other
// actions on campaigns it writes who did it and why into the audit, in the same
// transaction; the error wraps [ErrActionRefused] where the campaign's state has
// nothing to pause, and storage.ErrNotFound where scope has no such campaign.
func (n Campaigns) Pause(ctx context.Context, scope Scope, guid string, by By) error {
	return act(ctx, n.core, messagingJobs, scope, guid, "PauseCampaign", by, (*messagingJobRow).pause)
}

// Resume lets a paused campaign go on where it was; no recipient gets a second
// message by that. One that was paused before its schedule was due waits for it.
func (n Campaigns) Resume(ctx context.Context, scope Scope, guid string, by By) error {
	return act(ctx, n.core, messagingJobs, scope, guid, "ResumeCampaign", by, (*messagingJobRow).resume)
}

// Cancel ends a campaign for good: no more messages are made from now on,
// and those that have not been sent are cancelled by the poller, a thousand in a
// transaction. What a provider has already been given stays, and so do in-app
// messages. A campaign all of whose messages are made can be cancelled as long as
// they wait to be sent.
func (n Campaigns) Cancel(ctx context.Context, scope Scope, guid string, by By) error {
	return act(ctx, n.core, messagingJobs, scope, guid, "CancelCampaign", by, (*messagingJobRow).cancel)
}

// List lists the campaigns of a scope in the order of their GUIDs, ended ones too, and
// says where the next page begins; empty after the last.
func (n Campaigns) List(ctx context.Context, scope Scope, p storage.Page) ([]MessagingJob, string, error) {
	return list(ctx, n.core, messagingJobs, scope, p, nil, (*messagingJobRow).view)
}

const (
	cancelPage   = 1000 // messages that one transaction looks at
	cancelRounds = 8    // after which no worker waits for a provider any more
)

// cancelSpec is the pass over cancelled campaigns: it cancels the messages that
// wait to be sent, a page in each transaction. The status says Cancelled all the
// while, so a claim does not change it.
func (n Campaigns) cancelSpec() work.Spec[messagingJobRow, nothing] {
	return work.Spec[messagingJobRow, nothing]{
		Name: "notify.cancel", Table: messagingJobs,
		Claimable: []string{StatusCancelled},
		Handle: func(_ context.Context, items []work.Item[messagingJobRow]) ([]nothing, error) {
			return make([]nothing, len(items)), nil // the transaction decides what waits
		},
		Dispatch: func(ctx context.Context, tx storage.Tx, done []work.Done[messagingJobRow, nothing]) error {
			for _, d := range done {
				if err := n.cancelMessages(ctx, tx, d.Row, max(cancelPage/len(done), 10)); err != nil {
					return err
				}
			}
			return nil
		},
		Fail:    func(now time.Time, j *messagingJobRow, _ error) { j.cancelLater(now) },
		Abandon: func(now time.Time, j *messagingJobRow) { j.abandoned(now) },
		Release: func(now time.Time, j *messagingJobRow) { j.released(now) },
	}
}

// cancelMessages cancels what waits in the next page of a campaign's messages.
func (n Campaigns) cancelMessages(ctx context.Context, tx storage.Tx, j *messagingJobRow, size int) error {
	page, err := messageStates(ctx, tx, j, size)
	if err != nil {
		return err
	}
	var waiting []int64
	for _, m := range page {
		switch m.Status {
		case StatusCreated, StatusRetryReady:
			waiting = append(waiting, m.ID)
		case StatusSending, StatusOutcomeUnknown:
			if !m.IsOnSupportHold { // it may come back by itself
				j.InFlight++
			}
		}
	}
	lost, err := cancelAll(ctx, tx, j, waiting)
	if err != nil {
		return err
	}
	j.Cancelled += len(waiting) - lost
	j.InFlight += lost
	now := driver.Now(n.store)
	if len(page) == size {
		j.CancelledUpTo, j.DueOn = page[size-1].Key, now
	} else {
		j.roundEnds(now)
	}
	return messagingJobs.Save(ctx, tx, j)
}

// messageStates reads little of the messages behind the cursor, in the order of
// their keys.
func messageStates(ctx context.Context, from driver.Reader, j *messagingJobRow, size int) ([]*messageRow, error) {
	where, err := under(j.GUID)
	if err != nil {
		return nil, err
	}
	if j.CancelledUpTo != "" {
		where = append(where, driver.Greater("key", j.CancelledUpTo))
	}
	return outgoingMessages.Find(ctx, from, j.Scope, driver.Query{
		Columns: []string{"status", "is_on_support_hold"}, Where: where, OrderBy: "key", Limit: size,
	})
}

// cancelAll cancels messages and says how many others have got hold of meanwhile.
func cancelAll(ctx context.Context, tx storage.Tx, j *messagingJobRow, ids []int64) (lost int, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	rows, err := outgoingMessages.Find(ctx, tx, j.Scope, driver.Query{Where: []driver.Cond{driver.In("id", ids)}, Limit: len(ids)})
	if err != nil {
		return 0, err
	}
	found, now := len(rows), driver.Now(tx.Store())
	rows = slices.DeleteFunc(rows, func(m *messageRow) bool { return m.Status != StatusCreated && m.Status != StatusRetryReady })
	lost = found - len(rows)
	for _, m := range rows {
		m.cancelled(now, reasons.CampaignCancelled)
	}
	err = outgoingMessages.Save(ctx, tx, rows...)
	var stale *storage.StaleError
	if errors.As(err, &stale) {
		return lost + len(stale.Rows), nil
	}
	return lost, err
}

// roundEnds looks again later if a provider had some of the messages: what it
// refuses for now would be sent again.
func (j *messagingJobRow) roundEnds(now time.Time) {
	j.CancelledUpTo, j.DueOn = "", time.Time{}
	if j.InFlight > 0 && j.Rounds < cancelRounds {
		j.DueOn = driver.Time(now.Add(time.Minute << j.Rounds))
		j.Rounds++
	}
	j.InFlight = 0
}

// cancelLater is a page that could not be stored.
func (j *messagingJobRow) cancelLater(now time.Time) {
	j.DueOn = driver.Time(now.Add(time.Minute))
}
