package notify

import (
	"context"
	"errors"

	"github.com/belfry-go/belfry/storage"
)

// addCampaigns adds what a revalidator is asked about in the place of the job of
// a campaign's message: the campaign as its renderer saw it.
func (n *Notifier) addCampaigns(ctx context.Context, waited map[string][]sending, found map[place]*Job) error {
	var places []place
	for _, group := range waited {
		for _, it := range group {
			if it.Row.JobPartitionKey == "" {
				places = append(places, it.Row.job())
			}
		}
	}
	if len(places) == 0 {
		return nil
	}
	var campaigns map[place]*MessagingJob
	err := n.store.InTx(ctx, func(tx storage.Tx) (err error) {
		campaigns, err = loadPlaces(ctx, tx, messagingJobs, places)
		return err
	})
	for at, j := range campaigns {
		view, err := n.viewOf(ctx, j)
		if err != nil {
			return err
		}
		if view != nil {
			found[at] = view
		}
	}
	return err
}

// viewOf is nil for a messaging job whose payload is none of ours.
func (n *Notifier) viewOf(ctx context.Context, j *MessagingJob) (*Job, error) {
	p, err := openPayload(ctx, n.store.Blobs(), j.Blob, 0)
	if errors.Is(err, ErrPayload) || errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	view := j.view(p.header)
	p.close()
	return &view, nil
}
