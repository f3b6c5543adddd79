package notify

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"

	"github.com/belfry-go/belfry/internal/calls"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage/driver"
)

// Forecast is what would become of a message now.
type Forecast struct {
	Message OutgoingMessage // as it is stored, or would be
	// Verdict is Proceed for a message that would be sent now, with To where it
	// would go elsewhere. Otherwise it has the reason.
	Verdict gate.Verdict
	// Copies says of each address that a message which would be sent names for a copy
	// whether it would get one: not if it is skipped or would be redirected, and no copy of
	// a message that is redirected. Nil: it names none.
	Copies map[string]gate.Verdict
}

// DryRun says of messages, in their order, what would become of each if it were due
// now: who would get it, and why others would not. It asks the gates about all of
// them at once, so that what one message uses up another lacks. Nothing is written,
// counted or reserved. Those who would get a copy are asked about as well. The messages are those of EnsureOutgoingMessage, whether
// they exist or not; one that has been sent, or ended otherwise, has reasons.Exists.
// An error of a gate is that of DryRun.
func (n *Notifier) DryRun(ctx context.Context, want ...OutgoingMessage) ([]Forecast, error) {
	rows, err := prepare(n.core, outgoingKind, want, (*OutgoingMessage).row)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	out, err := n.forecasts(ctx, rows)
	if err != nil {
		return nil, fmt.Errorf("notify: DryRun: %w", err)
	}
	for _, g := range n.gates {
		if err := n.dryAsk(ctx, g, rows, out); err != nil {
			return nil, fmt.Errorf("notify: DryRun: gate %s: %w", calls.Name(g), err)
		}
	}
	return out, n.dryCopies(ctx, rows, out)
}

// dryCopies asks all gates about those who would get a copy of what would be sent.
func (n *Notifier) dryCopies(ctx context.Context, rows []messageRow, all []Forecast) error {
	items := make([]sending, 0, len(rows))
	at := map[*messageRow]*Forecast{}
	for i := range rows {
		if v := all[i].Verdict; v.Action == gate.ActionProceed && v.To == "" {
			items = append(items, sending{Row: &rows[i]})
			at[&rows[i]] = &all[i]
		}
	}
	wishes := wishesOf(items, nil)
	for _, w := range wishes {
		f := at[w.it.Row]
		if f.Copies == nil {
			f.Copies = map[string]gate.Verdict{}
		}
		f.Copies[w.address] = gate.Proceed()
	}
	for _, g := range n.gates {
		if len(wishes) == 0 {
			return nil
		}
		verdicts, err := n.sender().askAbout(ctx, g, wishes, calls.AskGate)
		if err != nil {
			return fmt.Errorf("notify: DryRun: gate %s, about copies: %w", calls.Name(g), err)
		}
		var open []wish
		for i, w := range wishes {
			if deniesCopy(verdicts[i]) {
				at[w.it.Row].Copies[w.address] = verdicts[i]
			} else {
				open = append(open, w)
			}
		}
		wishes = open
	}
	return nil
}

// forecasts puts stored rows in the place of those that exist.
func (n *Notifier) forecasts(ctx context.Context, rows []messageRow) ([]Forecast, error) {
	places, wanted := make([]driver.ScopedKey, len(rows)), make([]*messageRow, len(rows))
	for i := range rows {
		places[i], wanted[i] = driver.ScopedKey{Scope: rows[i].Scope, Key: rows[i].Key}, &rows[i]
	}
	var stored map[driver.ScopedKey]*messageRow
	var inboxes map[driver.ScopedKey]*userMessageRow
	err := n.read(ctx, nil, func(from driver.Reader) (err error) {
		if stored, err = outgoingMessages.GetMany(ctx, from, places); err != nil {
			return err
		}
		inboxes, err = besides(ctx, from, wanted)
		return err
	})
	out := make([]Forecast, len(rows))
	for i := range rows {
		m := &rows[i]
		if s := stored[places[i]]; s != nil {
			*m = *s
			if m.DueOn.IsZero() || m.Status != StatusCreated && m.Status != StatusRetryReady {
				out[i].Verdict = gate.Skip(reasons.Exists)
			}
		}
		if m.UnlessRead != "" && out[i].Verdict.Action == gate.ActionProceed {
			out[i].Verdict = inboxes[m.inboxOf()].letsOut(m, driver.Now(n.store))
		}
		out[i].Message = m.view()
	}
	return out, err
}

// dryAsk asks a gate about what those before it let through.
func (n *Notifier) dryAsk(ctx context.Context, g gate.Gate, rows []messageRow, all []Forecast) error {
	var asked []int
	var attempts []gate.Attempt
	for i := range all {
		if all[i].Verdict.Action == gate.ActionProceed {
			a := n.sender().attempt(&rows[i])
			a.DryRun = true
			asked, attempts = append(asked, i), append(attempts, a)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	verdicts, err := calls.AskGate(ctx, n.options.Logger, g, attempts, g.Ask, gate.Verdict.Known)
	if err != nil {
		return err
	}
	for k, i := range asked {
		if v := verdicts[k]; v.Action != gate.ActionProceed || v.To != "" {
			all[i].Verdict = v
		}
	}
	return nil
}

// CampaignForecast is what a campaign would make of its audience.
type CampaignForecast struct {
	// Recipients are Generated (a message would be made), in Skipped, or Repeated:
	// in the audience twice.
	Recipients, Generated, Repeated int
	Skipped                         map[string]int // by reason
	// Samples are the first messages that would be made, with their content.
	Samples []OutgoingMessage
}

// DryRun renders the whole audience of a messaging job, which need not
// exist, and writes nothing. It gives at most so many samples. An audience of a
// million takes as long as its renderings do, and about 40 MB of memory to find
// those who are in it twice. The gates are not asked: [Notifier.DryRun] asks them
// about the samples. The error wraps [ErrPayload] for a blob that is not an audience.
func (n Campaigns) DryRun(ctx context.Context, j MessagingJob, samples int) (f CampaignForecast, err error) {
	if err := messagingJobs.CheckScope(j.Scope); err != nil {
		return f, err
	}
	row := j.row()
	if err := fillMessagingJob(n.core, driver.Now(n.store), &row); err != nil {
		return f, fmt.Errorf("notify: DryRunCampaign: %w", err)
	}
	if n.registry.lookup(j.Type).Renderer == nil {
		return f, fmt.Errorf("notify: DryRunCampaign: type %q has no renderer here", j.Type)
	}
	p, err := openPayload(ctx, n.store.Blobs(), j.Blob, 0)
	if err != nil {
		return f, err
	}
	defer p.close()
	f.Skipped = map[string]int{}
	m, seen := n.generator().newChunkMaker(&row, p.header), newSeenKeys()
	for ctx.Err() == nil {
		r, err := p.next()
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if err != nil {
			return f, err
		}
		var a addressee
		err = work.Guard(func() (err error) {
			a, err = m.addressee(ctx, r)
			return err
		})
		if err != nil {
			return f, err
		}
		f.add(a, seen, samples)
	}
	return f, ctx.Err()
}

// add counts one recipient as the pass would.
func (f *CampaignForecast) add(a addressee, seen *seenKeys, samples int) {
	f.Recipients++
	switch known := a.known(seen); {
	case a.user == nil && a.outgoing == nil:
		f.Skipped[a.problem]++
	case known:
		f.Repeated++
	case a.user == nil && a.outgoing.Status == StatusSkipped:
		f.Skipped[a.problem]++
	default:
		f.Generated++
		if a.outgoing != nil && a.outgoing.Status == StatusCreated && len(f.Samples) < samples {
			f.Samples = append(f.Samples, a.outgoing.view())
		}
	}
}

// known reports whether all messages of a were there before, and notes them.
func (a addressee) known(seen *seenKeys) bool {
	known := true
	if a.user != nil {
		known = seen.note(a.user.Key) && known
	}
	if a.outgoing != nil {
		known = seen.note(a.outgoing.Key) && known
	}
	return known
}

// seenKeys remembers keys by 64 bits of a hash: two of a million are taken for
// one with a chance of one in thirty million.
type seenKeys struct {
	seed maphash.Seed
	keys map[uint64]struct{}
}

func newSeenKeys() *seenKeys { return &seenKeys{maphash.MakeSeed(), map[uint64]struct{}{}} }

// note reports whether the key was noted before.
func (s *seenKeys) note(key string) bool {
	sum := maphash.String(s.seed, key)
	_, known := s.keys[sum]
	s.keys[sum] = struct{}{}
	return known
}

// Preview renders a message as the generator would, and stores nothing: for the
// host's own "show me" button, and for tests of templates. The attachments are in
// the content by name and blob; one that the renderer made for this is removed
// after a day. The type has to be registered here. A content that no message may have is an [channel.ErrContent].
func (n *Notifier) Preview(ctx context.Context, j Job, r Recipient) (c Content, err error) {
	if err := jobs.CheckScope(j.Scope); err != nil {
		return c, err
	}
	renderer := n.registry.lookup(j.Type).Renderer
	if renderer == nil {
		return c, fmt.Errorf("notify: type %q has no renderer here", j.Type)
	}
	err = work.Guard(func() (err error) {
		c, err = n.rendered(ctx, renderer, j, r)
		return err
	})
	if o := n.options.Unsubscribe; o != nil {
		c.Text, c.HTML = linked(c.Text, c.HTML, o.URL)
	}
	return c, err
}
