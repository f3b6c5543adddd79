package notify

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
)

// CampaignForecast is what a campaign would make of its audience.
type CampaignForecast struct {
	// Recipients are Generated (a message would be made), in Skipped, or Repeated:
	// in the audience twice.
	Recipients, Generated, Repeated int
	Skipped                         map[string]int // by reason
	// Samples are the first messages that would be made, with their content.
	Samples []OutgoingMessage
}

// DryRunCampaign renders the whole audience of a messaging job, which need not
// exist, and writes nothing. It gives at most so many samples. An audience of a
// million takes as long as its renderings do, and about 40 MB of memory to find
// those who are in it twice. The gates are not asked: [Notifier.DryRun] asks them
// about the samples. The error wraps [ErrPayload] for a blob that is no audience.
func (n *Notifier) DryRunCampaign(ctx context.Context, j MessagingJob, samples int) (f CampaignForecast, err error) {
	if err := fillMessagingJob(n, j.CreatedOn, &j); err != nil {
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
	m, seen := n.newChunkMaker(&j, p.header), newSeenKeys()
	for ctx.Err() == nil {
		r, err := p.next()
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if err != nil {
			return f, err
		}
		a, err := m.addressee(ctx, r)
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
			f.Samples = append(f.Samples, *a.outgoing)
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
