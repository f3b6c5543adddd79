package notify

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry/storage"
)

// render decides for each recipient where its message goes and what it says. One
// who is named twice with the same destination gets one message.
func (n *Notifier) render(ctx context.Context, j *Job, to []Recipient) (frozen, error) {
	renderer := n.registry.lookup(j.Type).Renderer
	if renderer == nil {
		return frozen{}, fmt.Errorf("notify: type %q has no renderer here", j.Type)
	}
	f := frozen{HashKey: n.hashKey, Deliveries: make([]delivery, 0, len(to))}
	for _, r := range to {
		d := n.destination(r)
		if d.Problem == "" || d.Recipient.Inbox != "" {
			content, err := renderer.Render(ctx, *j, d.Recipient)
			if err == nil {
				err = content.check()
			}
			if err != nil {
				return frozen{}, err
			}
			d.Content = content
		}
		f.Deliveries = append(f.Deliveries, d)
	}
	return f, nil
}

// destination normalises where a recipient is reached. A destination that is
// missing or malformed is a problem of this recipient, not a failure of the job.
func (n *Notifier) destination(r Recipient) delivery {
	d := delivery{Recipient: r}
	if r.Channel == "" {
		if r.Inbox == "" {
			d.Problem = ReasonNoDestination
		}
		return d
	}
	method := Method(r.Channel)
	address, err := normalise(method, r.Address)
	if err != nil {
		d.Problem, address = ReasonBadAddress, r.Address
	}
	d.Recipient.Address = address
	d.Hash = n.recipientHash(r.Ref, method, address)
	return d
}

// messagesOf makes the rows of what was frozen.
func (n *Notifier) messagesOf(j *Job, f frozen) (generated, error) {
	var out generated
	for _, d := range f.Deliveries {
		if d.Recipient.Inbox != "" {
			m := d.userMessage(j)
			if err := fillUserMessage(n, storage.Now(n.store), m); err != nil {
				return generated{}, err
			}
			out.users = append(out.users, m)
		}
		if d.Recipient.Channel == "" {
			continue
		}
		m, err := n.outgoing(j, f, d)
		if err != nil {
			return generated{}, err
		}
		out.outgoing = append(out.outgoing, m)
	}
	return out, nil
}

func (d delivery) userMessage(j *Job) *UserMessage {
	return &UserMessage{
		Record:       storage.Record{Scope: j.Scope, Type: j.Type, Lane: j.Lane},
		PartitionKey: d.Recipient.Inbox, JobPartitionKey: j.PartitionKey, JobRowKey: j.RowKey,
		BusinessUnit: j.BusinessUnit, RecipientRef: d.Recipient.Ref,
		Content: d.Content, InputHash: j.InputHash, SourceOn: j.SourceOn,
	}
}

// outgoing is the message of d; one that has a problem is kept as skipped, so
// that support sees who was not reached.
func (n *Notifier) outgoing(j *Job, f frozen, d delivery) (*OutgoingMessage, error) {
	t := n.registry.lookup(j.Type)
	m := &OutgoingMessage{
		Record:       storage.Record{Scope: j.Scope, Type: d.Recipient.Channel, Lane: j.Lane},
		PartitionKey: j.RowKey, JobPartitionKey: j.PartitionKey,
		NotificationType: j.Type, BusinessUnit: j.BusinessUnit, Method: Method(d.Recipient.Channel),
		RecipientRef: d.Recipient.Ref, RecipientHash: d.Hash, HashKey: f.HashKey,
		RecipientName: d.Recipient.Name, Address: d.Recipient.Address, Zone: d.Recipient.Zone,
		Content: d.Content, InputHash: j.InputHash,
		InDoubt: t.InDoubt, Mandatory: t.Mandatory, CreatedOn: storage.Now(n.store),
	}
	status := StatusCreated
	if d.Problem != "" {
		status = StatusSkipped
	}
	if err := n.begin(m, status); err != nil {
		return nil, err
	}
	if d.Problem != "" {
		m.ReasonCode, m.EndedOn = d.Problem, m.CreatedOn
	}
	return m, nil
}
