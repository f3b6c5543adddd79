package notify

import (
	"context"
	"errors"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

// chunkSize is how many recipients the campaigns of one group move on together:
// it bounds what is in memory and in one transaction.
const chunkSize = 1000

// campaignSpec is the generator pass over campaigns: each claim renders one chunk
// of the audience, and the transaction that stores its messages moves the
// cursor. So a crash repeats nothing, and a person's word counts between two
// chunks.
func (n *Notifier) campaignSpec() work.Spec[MessagingJob, chunk] {
	return work.Spec[MessagingJob, chunk]{
		Name: "notify.campaign", Table: messagingJobs,
		Claimable: []string{StatusReady}, Busy: StatusGenerating,
		Types:    n.registry.rendered,
		Handle:   n.generateChunks,
		Dispatch: n.dispatchChunks,
		Fail:     func(now time.Time, j *MessagingJob, _ error) { j.failed(now, ReasonPassFailed) },
		Abandon:  func(now time.Time, j *MessagingJob) { j.abandoned(now) },
		Release:  func(now time.Time, j *MessagingJob) { j.released(now) },
	}
}

// generateChunks decides about a group. The rows stay as they are: only the
// transaction that stores a chunk says that it is done.
func (n *Notifier) generateChunks(_ context.Context, items []work.Item[MessagingJob]) ([]chunk, error) {
	out := make([]chunk, len(items))
	for i, it := range items {
		err := work.Guard(func() (err error) {
			out[i], err = n.makeChunk(it.Ctx, it.Row, it.Row.share(n.chunk/len(items)))
			return err
		})
		if err == nil {
			err = it.Ctx.Err()
		}
		if err != nil {
			out[i] = chunk{}
			n.chunkFailed(it, err)
		}
	}
	return out, nil
}

// share divides what is left into chunks of about one size, at most most, so
// that the last one is not judged by a single recipient.
func (j *MessagingJob) share(most int) int {
	most = max(most, 1)
	left := j.AudienceSize - j.Done
	if left <= most {
		return most
	}
	chunks := (left + most - 1) / most
	return (left + chunks - 1) / chunks
}

// chunkFailed settles a campaign whose chunk could not be made.
func (n *Notifier) chunkFailed(it work.Item[MessagingJob], err error) {
	j, now := it.Row, storage.Now(n.store)
	var unrendered *unrenderedError
	switch {
	case it.Ctx.Err() != nil:
		j.released(now)
		return
	case errors.Is(err, errHashKey):
		j.stopped(now, ReasonHashKey)
	case errors.Is(err, ErrPayload):
		j.stopped(now, ReasonPayload)
	case errors.Is(err, storage.ErrNotFound):
		j.failed(now, ReasonPayloadMissing)
	case !errors.As(err, &unrendered):
		j.failed(now, ReasonPassFailed)
	case forGood(err):
		j.refused(now, reasonOf(err, ReasonRenderFailed))
	default:
		j.failed(now, reasonOf(err, ReasonRenderFailed))
	}
	n.options.Logger.Warn("belfry: a chunk of a campaign failed", "type", j.Type, "status", j.Status, "reason", j.ReasonCode)
}
