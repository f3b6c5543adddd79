package notify

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"

	"github.com/belfry-go/belfry/storage"
)

// Authorise is the host's word on whether the caller may see who a campaign is
// for and what it says (Communication - Codebase flow, "Campaign"). An error
// refuses, and is that of the call.
type Authorise func(ctx context.Context, c CampaignProgress) error

// CampaignContent is the payload of a campaign.
type CampaignContent struct {
	Campaign  CampaignProgress // without its messages
	EventData json.RawMessage  // what all recipients have in common

	n    *Notifier
	blob storage.Ref
}

// CampaignContent opens the payload of a campaign after allow has agreed; before
// that, nothing of it is read. It panics without allow.
func (n *Notifier) CampaignContent(ctx context.Context, scope Scope, guid string, allow Authorise) (*CampaignContent, error) {
	if allow == nil {
		panic("notify: CampaignContent needs an Authorise")
	}
	var j *MessagingJob
	err := n.inTx(ctx, nil, func(tx storage.Tx) (err error) {
		j, err = campaign(ctx, tx, scope, guid)
		return err
	})
	if err != nil {
		return nil, err
	}
	c := &CampaignContent{Campaign: j.progress(), n: n, blob: j.Blob}
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

// Recipients yields the audience as it is stored, in its order and with whoever
// is in it twice. An error ends it.
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
