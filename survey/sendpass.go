package survey

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// sendPass sends the links that are due, reminds of them and expires them.
func (s *Service) sendPass() work.Pass {
	return work.New(s.store, work.Spec[Instance, []*Delivery]{
		Name: "survey.send", Table: instances, Claimable: active, Types: s.channelKeys, Group: s.options.Concurrency,
		Handle:  s.send,
		Fail:    func(now time.Time, r *Instance, _ error) { r.DueOn = now.Add(time.Minute) },
		Abandon: func(now time.Time, r *Instance) { r.DueOn = now },
		Release: func(now time.Time, r *Instance) { r.DueOn = now },
	})
}

// channelKeys are the channels of this process.
func (s *Service) channelKeys() []string {
	out := make([]string, 0, len(s.channels))
	for key := range s.channels {
		out = append(out, key)
	}
	return out
}

func (s *Service) send(ctx context.Context, items []work.Item[Instance]) ([][]*Delivery, error) {
	for _, it := range items {
		r := it.Row
		c := s.channels[r.Type]
		if _, err := c.Send(it.Ctx, notify.Message{ID: r.PublicID, Channel: r.Channel, To: r.RecipientAddress, Text: s.options.SurveyURL}); err != nil {
			return nil, err
		}
		r.Status, r.LastSentOn, r.DueOn, r.NextSendOn = StatusSent, storage.Now(s.store), time.Time{}, time.Time{}
	}
	return make([][]*Delivery, len(items)), nil
}
